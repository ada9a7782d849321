import { describe, test } from 'vitest';
import { type ApiKey, apiKey } from '../../../src/domain/api-key/api-key.ts';
import { type RevokeKey, revokeKey } from '../../../src/domain/api-key/revoke-key.ts';
import { callerWith, keyCreated, keyRevoked, keyRotated } from '../../support/controls/api-key.ts';
import { specify } from '../../support/specification.ts';

const admin = callerWith({ permissions: ['admin'] });
const revoke =
  (changes: Partial<RevokeKey> = {}) =>
  (state: ApiKey) =>
    revokeKey(state, { by: callerWith(), organizationId: 'org_mine', anotherAdminKeyRemains: true, ...changes });

describe('revoking an API key', () => {
  const { given } = specify(apiKey);

  test('ends the key and all its secrets', () => {
    const { when } = given([keyCreated(), keyRotated(1, '2027-01-01T00:00:00.000Z')]);
    when(revoke()).thenEvents(keyRevoked);
    when(revoke()).thenState({ status: 'revoked', earlierSecrets: [] });
  });
  test('twice is refused', () => {
    given([keyCreated(), keyRevoked]).when(revoke()).thenRefused('key_not_active');
  });
  test('is refused for the last usable admin key', () => {
    given([keyCreated({ permissions: ['admin'] })])
      .when(revoke({ by: admin, anotherAdminKeyRemains: false }))
      .thenRefused('last_admin_key');
  });
  test('of the last usable admin key is allowed to the operator', () => {
    given([keyCreated({ permissions: ['admin'] })])
      .when(revoke({ by: 'operator', anotherAdminKeyRemains: false }))
      .thenEvents(keyRevoked);
  });
  test('is refused for a key of another organization', () => {
    given([keyCreated()], 'org_other').when(revoke()).thenRefused('other_organization');
  });
});
