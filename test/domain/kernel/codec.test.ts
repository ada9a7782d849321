import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  createEventCodec,
  currentVersion,
  type EventCodec,
  eventCodec,
  MalformedEvent,
  UnknownEvent,
} from '../../../src/domain/kernel/codec.ts';
import type { StoredEvent } from '../../../src/domain/kernel/event-store.ts';
import { EVENT_SCHEMAS, type EventType, type OutboxEvent } from '../../../src/domain/kernel/events.ts';
import { canonicalJson } from '../../../src/lib/transparency/transparency.ts';
import { contextAt } from '../../support/specification.ts';

const FIXTURES = new URL('../../fixtures/events/', import.meta.url);
const fixture = (name: string): unknown => JSON.parse(readFileSync(new URL(name, FIXTURES), 'utf8'));
const types = Object.keys(EVENT_SCHEMAS) as EventType[];

const CONTEXT = contextAt('2026-01-01T00:00:00.000Z');
const ID = '01a00000-0000-7000-8000-000000000001';

const stored = (type: string, schemaVersion: number, data: unknown): StoredEvent => ({
  id: ID,
  type,
  data: canonicalJson(data),
  metadata: canonicalJson({ ...CONTEXT, schemaVersion }),
});

const encoded = (codec: EventCodec, event: OutboxEvent): StoredEvent | undefined =>
  codec.encode([{ ...event, id: ID }], CONTEXT, { stream: 'test-1', expected: 'no-stream' })[0];

describe('the codec', () => {
  const versions = types.flatMap((type) =>
    Array.from({ length: currentVersion(type) }, (_, index) => ({ type, version: index + 1 })),
  );

  /** Fixtures such as `RecipientBounced.v1.session.json`: the same version with optional fields. */
  const variants = readdirSync(FIXTURES).filter((name) => name.split('.').length === 4);
  const named = variants.map((name) => {
    const [type = '', version = ''] = name.split('.');
    return { name, type: type as EventType, version: Number(version.slice(1)) };
  });
  const plain = versions.map((each) => ({ ...each, name: `${each.type}.v${each.version}.json` }));

  test.each([...plain, ...named])('reads back $name as it was stored', ({ name, type, version }) => {
    const written = stored(type, version, fixture(name));
    const event = eventCodec.decode(written);
    expect(event).toMatchObject({ type, id: ID, metadata: { ...CONTEXT, schemaVersion: version }, stored: written });
    const current = stored(type, currentVersion(type), event.data);
    if (version === currentVersion(type)) expect(current).toEqual(written);
    expect(encoded(eventCodec, event)).toEqual(current);
  });

  test('has a fixture for every version and no others', () => {
    const unvaried = readdirSync(FIXTURES).filter((name) => !variants.includes(name));
    expect(unvaried.sort()).toEqual(plain.map(({ name }) => name).sort());
    for (const { type, version } of named) expect(versions).toContainEqual({ type, version });
  });

  test.each(plain)('does not decode again what it encoded: $name', ({ name, type }) => {
    const event = { type, data: fixture(name) } as OutboxEvent; // a fixture of this type
    const own = encoded(eventCodec, event);
    if (own === undefined) throw new Error('nothing was encoded');
    const decoded = eventCodec.decode(own);
    expect(eventCodec.decode(own)).toBe(decoded);
    expect(decoded).toEqual(eventCodec.decode({ ...own }));
  });

  test('stops at an event type it does not know', () => {
    const decode = () => eventCodec.decode(stored('FromTheFuture', 1, {}));
    expect(decode).toThrow(UnknownEvent);
    expect(decode).toThrow(/this process is older than the log/);
  });

  test('stops at a newer version of a type it knows', () => {
    expect(() => eventCodec.decode(stored('KeyRevoked', 99, { keyId: 'key_1' }))).toThrow(UnknownEvent);
  });

  test('refuses to write what its schema does not allow', () => {
    const malformed = { type: 'KeyRevoked', data: {} } as never;
    expect(() => encoded(eventCodec, malformed)).toThrow(MalformedEvent);
  });

  test('refuses to read what is not an event of its type', () => {
    expect(() => eventCodec.decode(stored('KeyRevoked', 1, null))).toThrow(MalformedEvent);
    expect(() => eventCodec.decode({ ...stored('KeyRevoked', 1, {}), data: '{' })).toThrow(MalformedEvent);
    expect(() => eventCodec.decode({ ...stored('KeyRevoked', 1, {}), metadata: '{}' })).toThrow(MalformedEvent);
  });

  const called = (name: string) =>
    ({ type: 'OrganizationUpdated', data: { organizationId: 'org_1', name } }) as OutboxEvent;

  test.each(['\ud800', 'a\udfff', '\\\ud83d', '\udc00\ud800'])('refuses half a surrogate pair: %j', (name) => {
    expect(() => encoded(eventCodec, called(name))).toThrow(/half a surrogate pair/);
  });

  test.each(['🎈', '\\ud800', '\\\\ud800 and \\'])('keeps text that only looks like one: %j', (name) => {
    expect(JSON.parse(encoded(eventCodec, called(name))?.data ?? '')).toMatchObject({ name });
  });

  test('refuses what no leaf of the audit tree can hold', () => {
    const keys = Array.from({ length: 2_000 }, (_, number) => ({
      keyId: `key_${String(number).padStart(26, 'a')}`,
      revision: 1,
    }));
    const event = { type: 'AdminKeysReleased', data: { organizationId: 'org_1', keys, domain: null } };
    expect(() => encoded(eventCodec, event as never)).toThrow(/larger than 64535 bytes/);
  });
});

describe('an event in an older shape', () => {
  /** Version 1 named the id `id`. Version 2 had no `keyId` prefix. */
  const codec = createEventCodec({
    KeyRevoked: [
      (data) => ({ keyId: (data as { id: string }).id }),
      (data) => ({ keyId: `key_${(data as { keyId: string }).keyId}` }),
    ],
  });
  const revoked = { type: 'KeyRevoked', data: { keyId: 'key_1' } } as const;

  test.each([
    [1, { id: '1' }],
    [2, { keyId: '1' }],
    [3, { keyId: 'key_1' }],
  ])('is read in the current shape when it was stored as version %i', (schemaVersion, data) => {
    expect(codec.decode(stored('KeyRevoked', schemaVersion, data))).toMatchObject(revoked);
  });

  test('is written in the current version only', () => {
    expect(encoded(codec, revoked)).toEqual(stored('KeyRevoked', 3, revoked.data));
  });

  test('is refused if its upcast does not make an event of its type', () => {
    const bad = createEventCodec({ KeyRevoked: [() => ({})] });
    expect(() => bad.decode(stored('KeyRevoked', 1, {}))).toThrow(MalformedEvent);
  });
});
