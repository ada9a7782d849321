import { describe, test } from 'vitest';
import {
  type ApiKey,
  apiKey,
  type KeyChanges,
  type UpdateKey,
  updateKey,
} from '../../../src/domain/api-key/api-key.ts';
import {
  callerWith,
  keyCreated,
  keyDeleted,
  keyExpired,
  keyRevoked,
  keyUpdated,
} from '../../support/controls/api-key.ts';
import { NOW, specify } from '../../support/specification.ts';

const LATER = '2026-11-22T12:00:00.000Z';
const admin = callerWith({ permissions: ['admin'] });
const update =
  (changes: KeyChanges, more: Partial<UpdateKey> = {}) =>
  (state: ApiKey) =>
    updateKey(state, {
      by: callerWith(),
      organizationId: 'org_mine',
      now: NOW,
      endedWithDomain: false,
      changes,
      ...more,
    });

describe('changing an API key', () => {
  const { given } = specify(apiKey);

  test('records only what differs', () => {
    given([keyCreated()])
      .when(update({ name: 'other', permissions: ['send'], allowedCidrs: ['192.0.2.0/24'], expiresAt: LATER }))
      .thenEvents(keyUpdated({ name: 'other', allowedCidrs: ['192.0.2.0/24'], expiresAt: LATER }));
  });

  test('to its present values does nothing, in whatever order they are given', () => {
    given([keyCreated({ permissions: ['send', 'read'], allowedCidrs: ['192.0.2.1', '192.0.2.2'] })])
      .when(
        update({
          name: 'server',
          permissions: ['read', 'send'],
          expiresAt: null,
          allowedCidrs: ['192.0.2.2', '192.0.2.1'],
        }),
      )
      .thenNothing();
  });

  test('replaces limits kind by kind, and restores the default for null', () => {
    given([keyCreated({ rateLimits: { send: 10, read: 20 } })])
      .when(update({ rateLimits: { send: null, manage: 5 } }, { by: admin }))
      .thenEvents(keyUpdated({ rateLimits: { read: 20, manage: 5 } }));
  });

  test('sets limits only for admin and the operator', () => {
    const { when } = given([keyCreated()]);
    when(update({ rateLimits: { send: 10 } })).thenRefused('permission_missing');
    when(update({ rateLimits: { send: 10 } }, { by: 'operator' })).thenEvents(keyUpdated({ rateLimits: { send: 10 } }));
  });

  test('that holds admin, or would, is refused to a manage key', () => {
    given([keyCreated({ permissions: ['admin'] })])
      .when(update({ name: 'mine' }))
      .thenRefused('permission_missing');
    given([keyCreated()])
      .when(update({ permissions: ['admin'] }))
      .thenRefused('permission_missing');
    given([keyCreated()])
      .when(update({ permissions: ['admin'] }, { by: admin }))
      .thenEvents(keyUpdated({ permissions: ['admin'] }));
  });

  test('is refused to a test key when the key is live', () => {
    given([keyCreated()])
      .when(update({ name: 'x' }, { by: callerWith({ environment: 'test' }) }))
      .thenRefused('environment_not_allowed');
  });

  test('that has ended is refused, and one that was deleted is not found', () => {
    given([keyCreated(), keyRevoked])
      .when(update({ name: 'x' }))
      .thenRefused('key_not_active');
    given([keyCreated()])
      .when(update({ name: 'x' }, { endedWithDomain: true }))
      .thenRefused('key_not_active');
    given([keyCreated(), keyDeleted])
      .when(update({ name: 'x' }))
      .thenRefused('not_found');
    given([keyCreated()], 'org_other')
      .when(update({ name: 'x' }))
      .thenRefused('other_organization');
  });

  test('that has expired revives it with another expiry, and is refused without one', () => {
    const { when } = given([keyCreated({ expiresAt: NOW }), keyExpired]);
    when(update({ name: 'x' })).thenRefused('key_not_active');
    when(update({ name: 'x', expiresAt: LATER })).thenEvents(keyUpdated({ name: 'x', expiresAt: LATER }));
    when(update({ expiresAt: null })).thenState({ expiresAt: null, expiryNoted: false });
  });
});
