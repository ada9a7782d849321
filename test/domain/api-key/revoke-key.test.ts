import { describe, test } from 'vitest';
import { type ApiKey, apiKey, type RevokeKey, revokeKey } from '../../../src/domain/api-key/api-key.ts';
import { callerWith, keyCreated, keyDeleted, keyRevoked, keyRotated } from '../../support/controls/api-key.ts';
import { NOW, specify } from '../../support/specification.ts';

const admin = callerWith({ permissions: ['admin'] });
const revoke =
  (changes: Partial<RevokeKey> = {}) =>
  (state: ApiKey) =>
    revokeKey(state, { by: callerWith(), organizationId: 'org_mine', now: NOW, endedWithDomain: false, ...changes });

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
  test('is refused to a manage key when the key holds admin', () => {
    given([keyCreated({ permissions: ['admin'] })])
      .when(revoke())
      .thenRefused('permission_missing');
  });
  test('that holds admin is allowed to admin and to the operator', () => {
    const { when } = given([keyCreated({ permissions: ['admin'] })]);
    when(revoke({ by: admin })).thenEvents(keyRevoked);
    when(revoke({ by: 'operator' })).thenEvents(keyRevoked);
  });
  test('is allowed when it is expired', () => {
    given([keyCreated({ expiresAt: NOW })])
      .when(revoke())
      .thenEvents(keyRevoked);
  });
  test('is refused when its domain was deleted', () => {
    given([keyCreated()])
      .when(revoke({ endedWithDomain: true }))
      .thenRefused('key_not_active');
  });
  test('is not found when it was deleted', () => {
    given([keyCreated(), keyDeleted]).when(revoke()).thenRefused('not_found');
  });
  test('is refused for a key of another organization', () => {
    given([keyCreated()], 'org_other').when(revoke()).thenRefused('other_organization');
  });
});
