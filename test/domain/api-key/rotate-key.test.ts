import { describe, test } from 'vitest';
import { type ApiKey, apiKey, type RotateKey, rotateKey } from '../../../src/domain/api-key/api-key.ts';
import {
  callerWith,
  keyCreated,
  keyDeleted,
  keyRevoked,
  keyRotated,
  keyUpdated,
  secretNumber,
} from '../../support/controls/api-key.ts';
import { NOW, specify } from '../../support/specification.ts';

const LATER = '2026-11-22T12:00:00.000Z';
const rotate =
  (changes: Partial<RotateKey> = {}) =>
  (state: ApiKey) =>
    rotateKey(state, {
      by: callerWith(),
      organizationId: 'org_mine',
      secret: secretNumber(9),
      gracePeriodMinutes: 1440,
      revokePrevious: false,
      now: NOW,
      endedWithDomain: false,
      ...changes,
    });

describe('rotating an API key', () => {
  const { given } = specify(apiKey);

  test('replaces the secret and keeps the earlier one until the grace period ends', () => {
    const { when } = given([keyCreated()]);
    when(rotate()).thenEvents(keyRotated(9, LATER));
    when(rotate()).thenState({ secret: secretNumber(9), earlierSecrets: [{ ...secretNumber(0), expiresAt: LATER }] });
  });

  test('lets each secret keep its own grace period', () => {
    given([keyCreated(), keyRotated(1, LATER)])
      .when(rotate({ gracePeriodMinutes: 1 }))
      .thenState({
        earlierSecrets: [
          { ...secretNumber(0), expiresAt: LATER },
          { ...secretNumber(1), expiresAt: '2026-11-21T12:01:00.000Z' },
        ],
      });
  });

  test('is refused while two earlier secrets still work', () => {
    given([keyCreated(), keyRotated(1, LATER), keyRotated(2, LATER)])
      .when(rotate())
      .thenRefused('too_many_live_secrets');
  });

  test('is allowed again once an earlier secret has ended', () => {
    given([keyCreated(), keyRotated(1, LATER), keyRotated(2, NOW)])
      .when(rotate())
      .thenEvents(keyRotated(9, LATER));
  });

  test('with no grace is allowed however many earlier secrets work, and ends the current one now', () => {
    given([keyCreated(), keyRotated(1, LATER), keyRotated(2, LATER)])
      .when(rotate({ gracePeriodMinutes: 0 }))
      .thenEvents(keyRotated(9, NOW));
  });

  test('with revoke_previous ends all earlier secrets now', () => {
    given([keyCreated(), keyRotated(1, LATER), keyRotated(2, LATER)])
      .when(rotate({ revokePrevious: true }))
      .thenState({ earlierSecrets: [{ ...secretNumber(2), expiresAt: NOW }] });
  });

  test('is refused for a key that does not exist', () => {
    given([]).when(rotate()).thenRefused('not_found');
  });

  test('is refused for a revoked key', () => {
    given([keyCreated(), keyRevoked]).when(rotate()).thenRefused('key_not_active');
  });

  test('is refused for an expired key', () => {
    given([keyCreated({ expiresAt: NOW })])
      .when(rotate())
      .thenRefused('key_not_active');
  });

  test('is allowed again once an expired key was given another expiry, which it keeps', () => {
    given([keyCreated({ expiresAt: NOW }), keyUpdated({ expiresAt: LATER })])
      .when(rotate())
      .thenState({ secret: secretNumber(9), expiresAt: LATER });
  });

  test('is refused for a key whose domain was deleted', () => {
    given([keyCreated()])
      .when(rotate({ endedWithDomain: true }))
      .thenRefused('key_not_active');
  });

  test('is not found when the key was deleted', () => {
    given([keyCreated(), keyDeleted]).when(rotate()).thenRefused('not_found');
  });

  test('forgets earlier secrets that have ended', () => {
    given([keyCreated(), keyRotated(1, NOW), keyRotated(2, NOW), keyRotated(3, LATER)])
      .when(rotate())
      .thenState({
        earlierSecrets: [
          { ...secretNumber(2), expiresAt: LATER },
          { ...secretNumber(3), expiresAt: LATER },
        ],
      });
  });

  test('is refused for a key of another organization', () => {
    given([keyCreated()], 'org_other').when(rotate()).thenRefused('other_organization');
  });

  test('is refused to a manage key when the key holds admin', () => {
    given([keyCreated({ permissions: ['admin'] })])
      .when(rotate())
      .thenRefused('permission_missing');
  });

  test('is refused to a test key when the key is live', () => {
    given([keyCreated()])
      .when(rotate({ by: callerWith({ environment: 'test' }) }))
      .thenRefused('environment_not_allowed');
  });
});
