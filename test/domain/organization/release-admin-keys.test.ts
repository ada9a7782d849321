import { describe, expect, test } from 'vitest';
import {
  createKeyCacheProjection,
  type KeyCacheProjection,
  type KeyEntry,
  type ReleaseAdminKeys,
  releaseAdminKeys,
} from '../../../src/domain/api-key/key-cache-projection.ts';
import type { EventType, OutboxEvent } from '../../../src/domain/kernel/events.ts';
import { organization } from '../../../src/domain/organization/organization.ts';
import { keyCreated, keyDeleted, keyExpired, keyRevoked } from '../../support/controls/api-key.ts';
import { contextAt, NOW, recordedAs, specify } from '../../support/specification.ts';

const LATER = '2026-11-22T12:00:00.000Z';
const MUCH_LATER = '2026-12-22T12:00:00.000Z';

const created = {
  type: 'OrganizationCreated',
  data: { organizationId: 'org_mine', name: 'Mine', ceilings: null },
} as const;
const released = (keys: readonly (readonly [string, number])[], domain: ReleaseAdminKeys['domain'] = null) =>
  ({
    type: 'AdminKeysReleased',
    data: { organizationId: 'org_mine', keys: keys.map(([keyId, revision]) => ({ keyId, revision })), domain },
  }) as const;

type KeyFields = Parameters<typeof keyCreated>[0];

/** A key cache after these events, each in the named stream. */
const keyCacheOf = (...events: readonly (readonly [stream: `${string}-${string}`, event: OutboxEvent])[]) => {
  const keyCache = createKeyCacheProjection();
  const revisions = new Map<string, number>();
  for (const [stream, event] of events) {
    const revision = (revisions.get(stream) ?? -1) + 1;
    revisions.set(stream, revision);
    keyCache.apply(recordedAs(event, { id: `${stream}@${revision}`, stream, revision }, contextAt(NOW)));
  }
  return keyCache;
};

const admin = (keyId: string, more: KeyFields = {}) =>
  [`apiKey-${keyId}`, keyCreated({ keyId, permissions: ['admin'], ...more })] as const;
const then = (keyId: string, event: { readonly type: EventType; readonly data: object }) =>
  [`apiKey-${keyId}`, { ...event, data: { ...event.data, keyId } } as OutboxEvent] as const;
const domainEvent = (type: 'DomainRegistered' | 'DomainDeleted', domainId = 'dom_1') =>
  [
    `domain-${domainId}`,
    { type, data: { domainId, name: 'example.test', token: 't', dkim: [] } } as OutboxEvent,
  ] as const;

const entryOf = (keyCache: KeyCacheProjection, keyId: string): KeyEntry => {
  const entry = keyCache.keys.get(keyId);
  if (entry === undefined) throw new Error(`the key cache has no key ${keyId}`);
  return entry;
};

const { given } = specify(organization);

const losing = (keyCache: KeyCacheProjection, keyIds: readonly string[], domain: ReleaseAdminKeys['domain'] = null) =>
  ({ lost: keyIds.map((keyId) => entryOf(keyCache, keyId)), domain, keyCache, now: NOW }) as const;

describe('taking an admin key away', () => {
  test('is announced in the organization, with the revision at which it will happen', () => {
    const keyCache = keyCacheOf(admin('key_a'), admin('key_b'));
    given([created])
      .when((state) => releaseAdminKeys(state, losing(keyCache, ['key_a'])))
      .thenEvents(released([['key_a', 0]]));
  });

  test.each<[string, ReturnType<typeof keyCacheOf>]>([
    ['there is no other', keyCacheOf(admin('key_a'))],
    ['the other is revoked', keyCacheOf(admin('key_a'), admin('key_b'), then('key_b', keyRevoked))],
    ['the other is deleted', keyCacheOf(admin('key_a'), admin('key_b'), then('key_b', keyDeleted))],
    ['the other is expired', keyCacheOf(admin('key_a'), admin('key_b', { expiresAt: NOW }), then('key_b', keyExpired))],
    ['the other ends some day', keyCacheOf(admin('key_a'), admin('key_b', { expiresAt: LATER }))],
    [
      'the other ends before this one would have',
      keyCacheOf(admin('key_a', { expiresAt: MUCH_LATER }), admin('key_b', { expiresAt: LATER })),
    ],
    ['the other is for test and this one is not', keyCacheOf(admin('key_a'), admin('key_b', { environment: 'test' }))],
    ['the other only manages', keyCacheOf(admin('key_a'), admin('key_b', { permissions: ['manage'] }))],
    [
      'the domain of the other was deleted',
      keyCacheOf(
        ...[admin('key_a', { domainId: 'dom_2' }), domainEvent('DomainRegistered'), admin('key_b')],
        domainEvent('DomainDeleted'),
      ),
    ],
  ])('is refused when %s', (_what, keyCache) => {
    given([created])
      .when((state) => releaseAdminKeys(state, losing(keyCache, ['key_a'])))
      .thenRefused('last_admin_key');
  });

  test.each<[string, ReturnType<typeof keyCacheOf>]>([
    ['a live key replaces a test key', keyCacheOf(admin('key_a', { environment: 'test' }), admin('key_b'))],
    [
      'the other lasts as long',
      keyCacheOf(admin('key_a', { expiresAt: LATER }), admin('key_b', { expiresAt: MUCH_LATER })),
    ],
    [
      'the other was made after its domain was registered again',
      keyCacheOf(
        ...[admin('key_a', { domainId: 'dom_2' }), domainEvent('DomainRegistered'), domainEvent('DomainDeleted')],
        ...[domainEvent('DomainRegistered'), admin('key_b')],
      ),
    ],
  ])('is allowed when %s', (_what, keyCache) => {
    given([created])
      .when((state) => releaseAdminKeys(state, losing(keyCache, ['key_a'])))
      .thenEvents(released([['key_a', 0]]));
  });

  test('does not count on a key that another request is taking away, until that key is known to be another', () => {
    const before = keyCacheOf(admin('key_a'), admin('key_b'));
    const changed = keyCacheOf(
      admin('key_a'),
      admin('key_b'),
      then('key_b', { type: 'KeyUpdated', data: { name: 'x' } }),
    );
    const { when } = given([created, released([['key_b', 0]])]);
    when((state) => releaseAdminKeys(state, losing(before, ['key_a']))).thenRefused('last_admin_key');
    when((state) => releaseAdminKeys(state, losing(changed, ['key_a']))).thenEvents(released([['key_a', 0]]));
  });

  test('prefers a newer release over an older one', () => {
    const changed = keyCacheOf(
      admin('key_a'),
      admin('key_b'),
      then('key_b', { type: 'KeyUpdated', data: { name: 'x' } }),
    );
    given([created, released([['key_b', 1]]), released([['key_b', 0]])])
      .when((state) => releaseAdminKeys(state, losing(changed, ['key_a'])))
      .thenRefused('last_admin_key');
  });
});

describe('deleting a domain', () => {
  const place = { domainId: 'dom_1', revision: 0 };

  test('takes away all its admin keys at once', () => {
    const keyCache = keyCacheOf(domainEvent('DomainRegistered'), admin('key_a'), admin('key_b'));
    given([created])
      .when((state) => releaseAdminKeys(state, losing(keyCache, ['key_a', 'key_b'], place)))
      .thenRefused('last_admin_key');
  });

  test('without admin keys is announced all the same: one may be on its way', () => {
    const keyCache = keyCacheOf(domainEvent('DomainRegistered'), admin('key_a', { domainId: 'dom_2' }));
    given([created])
      .when((state) => releaseAdminKeys(state, losing(keyCache, [], place)))
      .thenEvents(released([], place));
  });

  test('stops others from counting on its keys, known then or not, until it is registered again', () => {
    const other = admin('key_a', { domainId: 'dom_2' });
    const before = keyCacheOf(domainEvent('DomainRegistered'), other, admin('key_new'));
    const after = keyCacheOf(
      ...[domainEvent('DomainRegistered'), domainEvent('DomainDeleted'), domainEvent('DomainRegistered')],
      ...[other, admin('key_new')],
    );
    const { when } = given([created, released([], place)]);
    when((state) => releaseAdminKeys(state, losing(before, ['key_a']))).thenRefused('last_admin_key');
    when((state) => releaseAdminKeys(state, losing(after, ['key_a']))).thenEvents(released([['key_a', 0]]));
  });
});

describe('the key cache', () => {
  const ended = (keyCache: KeyCacheProjection, keyId: string) => entryOf(keyCache, keyId).endedWithDomain;

  test('ends the keys of a deleted domain permanently', () => {
    const keyCache = keyCacheOf(
      ...[domainEvent('DomainRegistered'), admin('key_old'), domainEvent('DomainDeleted')],
      ...[admin('key_between'), domainEvent('DomainRegistered'), admin('key_new'), then('key_old', keyRevoked)],
    );
    expect(['key_old', 'key_between', 'key_new'].map((keyId) => ended(keyCache, keyId))).toEqual([true, true, false]);
  });

  test('knows each key at the revision of its last event, and changes of domains and keys by what they change', () => {
    const keyCache = keyCacheOf(
      domainEvent('DomainRegistered'),
      admin('key_a'),
      admin('key_b'),
      then('key_a', keyRevoked),
    );
    expect(entryOf(keyCache, 'key_a').revision).toBe(1);
    const [stream, event] = domainEvent('DomainDeleted');
    const changes = keyCache.apply(recordedAs(event, { stream, revision: 1 }, contextAt(NOW)));
    expect(
      changes.map(({ before, after }) => [after.key.keyId, before?.endedWithDomain, after.endedWithDomain]),
    ).toEqual([
      ['key_a', false, true],
      ['key_b', false, true],
    ]);
  });
});
