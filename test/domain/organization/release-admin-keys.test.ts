import { describe, expect, test } from 'vitest';
import type { EventType, OutboxEvent } from '../../../src/domain/events.ts';
import { organization } from '../../../src/domain/organization/organization.ts';
import { type ReleaseAdminKeys, releaseAdminKeys } from '../../../src/domain/organization/release-admin-keys.ts';
import { createRegister, type KeyEntry, type WritableRegister } from '../../../src/domain/register.ts';
import { keyCreated, keyDeleted, keyExpired, keyRevoked } from '../../support/controls/api-key.ts';
import { contextAt, NOW, specify } from '../../support/specification.ts';

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

type Created = Parameters<typeof keyCreated>[0];

/** A register after these events, each of a stream of its own name. */
const registerOf = (...events: readonly (readonly [stream: `${string}-${string}`, event: OutboxEvent])[]) => {
  const register = createRegister();
  const revisions = new Map<string, number>();
  for (const [stream, event] of events) {
    const revision = (revisions.get(stream) ?? -1) + 1;
    revisions.set(stream, revision);
    const metadata = { ...contextAt(NOW), schemaVersion: 1 };
    register.apply({ ...event, id: `${stream}@${revision}`, stream, revision, position: '', metadata });
  }
  return register;
};

const admin = (keyId: string, more: Created = {}) =>
  [`apiKey-${keyId}`, keyCreated({ keyId, permissions: ['admin'], ...more })] as const;
const then = (keyId: string, event: { readonly type: EventType; readonly data: object }) =>
  [`apiKey-${keyId}`, { ...event, data: { ...event.data, keyId } } as OutboxEvent] as const;
const domainEvent = (type: 'DomainRegistered' | 'DomainDeleted', domainId = 'dom_1') =>
  [
    `domain-${domainId}`,
    { type, data: { domainId, name: 'example.test', token: 't', dkim: [] } } as OutboxEvent,
  ] as const;

const entryOf = (register: WritableRegister, keyId: string): KeyEntry => {
  const entry = register.keys.get(keyId);
  if (entry === undefined) throw new Error(`the register has no key ${keyId}`);
  return entry;
};

const { given } = specify(organization);

const losing = (register: WritableRegister, keyIds: readonly string[], domain: ReleaseAdminKeys['domain'] = null) =>
  ({ lost: keyIds.map((keyId) => entryOf(register, keyId)), domain, register, now: NOW }) as const;

describe('taking an admin key away', () => {
  test('is said in the organization, with the revision at which it is about to happen', () => {
    const register = registerOf(admin('key_a'), admin('key_b'));
    given([created])
      .when((state) => releaseAdminKeys(state, losing(register, ['key_a'])))
      .thenEvents(released([['key_a', 0]]));
  });

  test.each<[string, ReturnType<typeof registerOf>]>([
    ['there is no other', registerOf(admin('key_a'))],
    ['the other is revoked', registerOf(admin('key_a'), admin('key_b'), then('key_b', keyRevoked))],
    ['the other is deleted', registerOf(admin('key_a'), admin('key_b'), then('key_b', keyDeleted))],
    ['the other is expired', registerOf(admin('key_a'), admin('key_b', { expiresAt: NOW }), then('key_b', keyExpired))],
    ['the other ends some day', registerOf(admin('key_a'), admin('key_b', { expiresAt: LATER }))],
    [
      'the other ends before this one would have',
      registerOf(admin('key_a', { expiresAt: MUCH_LATER }), admin('key_b', { expiresAt: LATER })),
    ],
    ['the other is for test and this one is not', registerOf(admin('key_a'), admin('key_b', { environment: 'test' }))],
    ['the other only manages', registerOf(admin('key_a'), admin('key_b', { permissions: ['manage'] }))],
    [
      'the domain of the other was deleted',
      registerOf(
        ...[admin('key_a', { domainId: 'dom_2' }), domainEvent('DomainRegistered'), admin('key_b')],
        domainEvent('DomainDeleted'),
      ),
    ],
  ])('is refused when %s', (_what, register) => {
    given([created])
      .when((state) => releaseAdminKeys(state, losing(register, ['key_a'])))
      .thenRefused('last_admin_key');
  });

  test.each<[string, ReturnType<typeof registerOf>]>([
    ['a live key stands in for a test key', registerOf(admin('key_a', { environment: 'test' }), admin('key_b'))],
    [
      'the other lasts as long',
      registerOf(admin('key_a', { expiresAt: LATER }), admin('key_b', { expiresAt: MUCH_LATER })),
    ],
    [
      'the other was made after its domain was registered again',
      registerOf(
        ...[admin('key_a', { domainId: 'dom_2' }), domainEvent('DomainRegistered'), domainEvent('DomainDeleted')],
        ...[domainEvent('DomainRegistered'), admin('key_b')],
      ),
    ],
  ])('is allowed when %s', (_what, register) => {
    given([created])
      .when((state) => releaseAdminKeys(state, losing(register, ['key_a'])))
      .thenEvents(released([['key_a', 0]]));
  });

  test('does not count on a key that somebody else is taking away, until that key is known to be another', () => {
    const before = registerOf(admin('key_a'), admin('key_b'));
    const changed = registerOf(
      admin('key_a'),
      admin('key_b'),
      then('key_b', { type: 'KeyUpdated', data: { name: 'x' } }),
    );
    const { when } = given([created, released([['key_b', 0]])]);
    when((state) => releaseAdminKeys(state, losing(before, ['key_a']))).thenRefused('last_admin_key');
    when((state) => releaseAdminKeys(state, losing(changed, ['key_a']))).thenEvents(released([['key_a', 0]]));
  });

  test('does not believe an older release over a newer one', () => {
    const changed = registerOf(
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

  test('takes all its admin keys away at once', () => {
    const register = registerOf(domainEvent('DomainRegistered'), admin('key_a'), admin('key_b'));
    given([created])
      .when((state) => releaseAdminKeys(state, losing(register, ['key_a', 'key_b'], place)))
      .thenRefused('last_admin_key');
  });

  test('without admin keys is said all the same: somebody may be making one', () => {
    const register = registerOf(domainEvent('DomainRegistered'), admin('key_a', { domainId: 'dom_2' }));
    given([created])
      .when((state) => releaseAdminKeys(state, losing(register, [], place)))
      .thenEvents(released([], place));
  });

  test('keeps others from counting on its keys, known then or not, until it is registered again', () => {
    const other = admin('key_a', { domainId: 'dom_2' });
    const before = registerOf(domainEvent('DomainRegistered'), other, admin('key_new'));
    const after = registerOf(
      ...[domainEvent('DomainRegistered'), domainEvent('DomainDeleted'), domainEvent('DomainRegistered')],
      ...[other, admin('key_new')],
    );
    const { when } = given([created, released([], place)]);
    when((state) => releaseAdminKeys(state, losing(before, ['key_a']))).thenRefused('last_admin_key');
    when((state) => releaseAdminKeys(state, losing(after, ['key_a']))).thenEvents(released([['key_a', 0]]));
  });
});

describe('the register', () => {
  const ended = (register: WritableRegister, keyId: string) => entryOf(register, keyId).endedWithDomain;

  test('ends the keys of a domain when that is deleted, for good', () => {
    const register = registerOf(
      ...[domainEvent('DomainRegistered'), admin('key_old'), domainEvent('DomainDeleted')],
      ...[admin('key_between'), domainEvent('DomainRegistered'), admin('key_new'), then('key_old', keyRevoked)],
    );
    expect(['key_old', 'key_between', 'key_new'].map((keyId) => ended(register, keyId))).toEqual([true, true, false]);
  });

  test('knows each key at the revision of its last event, and changes of domains and keys by what they change', () => {
    const register = registerOf(
      domainEvent('DomainRegistered'),
      admin('key_a'),
      admin('key_b'),
      then('key_a', keyRevoked),
    );
    expect(entryOf(register, 'key_a').revision).toBe(1);
    const metadata = { ...contextAt(NOW), schemaVersion: 1 };
    const [stream, event] = domainEvent('DomainDeleted');
    const changes = register.apply({ ...event, stream, id: 'x', revision: 1, position: '', metadata });
    expect(
      changes.map(({ before, after }) => [after.key.keyId, before?.endedWithDomain, after.endedWithDomain]),
    ).toEqual([
      ['key_a', false, true],
      ['key_b', false, true],
    ]);
  });
});
