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

  test.each(versions)('reads back $type version $version as it was stored', ({ type, version }) => {
    const stored = { type, schemaVersion: version, data: fixture(`${type}.v${version}.json`) };
    const event = eventCodec.decode(stored);
    if (version === currentVersion(type)) expect(event).toEqual({ type, data: stored.data });
    expect(eventCodec.encode(event)).toEqual({ ...event, schemaVersion: currentVersion(type) });
  });

  test('has a fixture for every version and none beside', () => {
    expect(readdirSync(FIXTURES).sort()).toEqual(
      versions.map(({ type, version }) => `${type}.v${version}.json`).sort(),
    );
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
