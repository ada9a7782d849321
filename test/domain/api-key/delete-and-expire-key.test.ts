import { describe, test } from 'vitest';
import { type ApiKey, apiKey, deleteKey, expireKey } from '../../../src/domain/api-key/api-key.ts';
import {
  callerWith,
  keyCreated,
  keyDeleted,
  keyExpired,
  keyRevoked,
  keyRotated,
  keyUpdated,
} from '../../support/controls/api-key.ts';
import { NOW, specify } from '../../support/specification.ts';

const EARLIER = '2026-11-20T12:00:00.000Z';
const { given } = specify(apiKey);

describe('a second time is not found', () => {
  const remove =
    (by = callerWith()) =>
    (state: ApiKey) =>
      deleteKey(state, { by, organizationId: 'org_mine' });

  test('ends it and all its secrets, a revoked one too', () => {
    const { when } = given([keyCreated(), keyRotated(1, '2027-01-01T00:00:00.000Z')]);
    when(remove()).thenEvents(keyDeleted);
    when(remove()).thenState({ status: 'deleted', earlierSecrets: [] });
    given([keyCreated(), keyRevoked]).when(remove()).thenEvents(keyDeleted);
  });
  test('twice is not found', () => {
    given([keyCreated(), keyDeleted]).when(remove()).thenRefused('not_found');
  });
  test('that holds admin is refused to a manage key', () => {
    given([keyCreated({ permissions: ['admin'] })])
      .when(remove())
      .thenRefused('permission_missing');
  });
  test('of another organization is refused', () => {
    given([keyCreated()], 'org_other').when(remove()).thenRefused('other_organization');
  });
});

describe('the expiry of an API key', () => {
  const expire = (state: ApiKey) => expireKey(state, NOW);

  test('is recorded once its time is over', () => {
    given([keyCreated({ expiresAt: NOW })])
      .when(expire)
      .thenEvents(keyExpired);
  });
  test('is recorded once', () => {
    given([keyCreated({ expiresAt: NOW }), keyExpired])
      .when(expire)
      .thenNothing();
  });
  test('is recorded again if the key was given another expiry that has passed too', () => {
    given([keyCreated({ expiresAt: EARLIER }), keyExpired, keyUpdated({ expiresAt: NOW })])
      .when(expire)
      .thenEvents(keyExpired);
  });
  test.each([
    ['has no expiry', [keyCreated()]],
    ['has time left', [keyCreated({ expiresAt: '2027-01-01T00:00:00.000Z' })]],
    ['is revoked', [keyCreated({ expiresAt: NOW }), keyRevoked]],
    ['is deleted', [keyCreated({ expiresAt: NOW }), keyDeleted]],
    ['does not exist', []],
  ])('is not recorded for a key that %s', (_what, events) => {
    given(events).when(expire).thenNothing();
  });
});
