import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { currentVersion, eventCodec, MalformedEvent, UnknownEvent } from '../../src/domain/codec.ts';
import { EVENT_SCHEMAS, type EventType } from '../../src/domain/events.ts';

const FIXTURES = new URL('../fixtures/events/', import.meta.url);
const fixture = (name: string): unknown => JSON.parse(readFileSync(new URL(name, FIXTURES), 'utf8'));
const types = Object.keys(EVENT_SCHEMAS) as EventType[];

describe('the codec', () => {
  const versions = types.flatMap((type) =>
    Array.from({ length: currentVersion(type) }, (_, index) => ({ type, version: index + 1 })),
  );

  /** `RecipientBounced.v1.session.json`: the same version with fields that came later and may be absent. */
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
