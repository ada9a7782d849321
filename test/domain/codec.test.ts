import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createEventCodec, currentVersion, eventCodec, MalformedEvent, UnknownEvent } from '../../src/domain/codec.ts';
import { EVENT_SCHEMAS, type EventType } from '../../src/domain/events.ts';

const FIXTURES = new URL('../fixtures/events/', import.meta.url);
const fixture = (name: string): unknown => JSON.parse(readFileSync(new URL(name, FIXTURES), 'utf8'));
const types = Object.keys(EVENT_SCHEMAS) as EventType[];

describe('the codec', () => {
  const versions = types.flatMap((type) =>
    Array.from({ length: currentVersion(type) }, (_, index) => ({ type, version: index + 1 })),
  );

  /** `RecipientBounced.v1.session.json`: the same version with optional fields. */
  const variants = readdirSync(FIXTURES).filter((name) => name.split('.').length === 4);
  const named = variants.map((name) => {
    const [type = '', version = ''] = name.split('.');
    return { name, type: type as EventType, version: Number(version.slice(1)) };
  });
  const plain = versions.map((each) => ({ ...each, name: `${each.type}.v${each.version}.json` }));

  test.each([...plain, ...named])('reads back $name as it was stored', ({ name, type, version }) => {
    const stored = { type, schemaVersion: version, data: fixture(name) };
    const event = eventCodec.decode(stored);
    if (version === currentVersion(type)) expect(event).toEqual({ type, data: stored.data });
    expect(eventCodec.encode(event)).toEqual({ ...event, schemaVersion: currentVersion(type) });
  });

  test('has a fixture for every version and none beside', () => {
    const unvaried = readdirSync(FIXTURES).filter((name) => !variants.includes(name));
    expect(unvaried.sort()).toEqual(plain.map(({ name }) => name).sort());
    for (const { type, version } of named) expect(versions).toContainEqual({ type, version });
  });

  test('stops at an event type it does not know', () => {
    const decode = () => eventCodec.decode({ type: 'FromTheFuture', schemaVersion: 1, data: {} });
    expect(decode).toThrow(UnknownEvent);
    expect(decode).toThrow(/this process is older than the log/);
  });

  test('stops at a newer version of a type it knows', () => {
    expect(() => eventCodec.decode({ type: 'KeyRevoked', schemaVersion: 99, data: { keyId: 'key_1' } })).toThrow(
      UnknownEvent,
    );
  });

  test('refuses to write what its schema does not allow', () => {
    const malformed = { type: 'KeyRevoked', data: {} } as never;
    expect(() => eventCodec.encode(malformed)).toThrow(MalformedEvent);
  });

  test('refuses to read what is no event of its type', () => {
    expect(() => eventCodec.decode({ type: 'KeyRevoked', schemaVersion: 1, data: null })).toThrow(MalformedEvent);
  });
});

describe('an event in an older shape', () => {
  /** Version 1 called the id `id`, version 2 had no `keyId` prefix. */
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
    expect(codec.decode({ type: 'KeyRevoked', schemaVersion, data })).toEqual(revoked);
  });

  test('is written in the current version only', () => {
    expect(codec.encode(revoked)).toEqual({ ...revoked, schemaVersion: 3 });
  });

  test('is refused when its upcast makes no event of its type', () => {
    const bad = createEventCodec({ KeyRevoked: [() => ({})] });
    expect(() => bad.decode({ type: 'KeyRevoked', schemaVersion: 1, data: {} })).toThrow(MalformedEvent);
  });
});
