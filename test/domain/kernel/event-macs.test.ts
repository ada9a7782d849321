import { describe, expect, test } from 'vitest';
import { leafOf } from '../../../src/domain/audit/leaf.ts';
import { createSealingCodec, eventCodec } from '../../../src/domain/kernel/codec.ts';
import { createEventMacs } from '../../../src/domain/kernel/event-macs.ts';
import type { RecordedEvent, StreamName } from '../../../src/domain/kernel/event-store.ts';
import { contextAt, NOW } from '../../support/specification.ts';

const [OLD, NEW, OTHER] = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const STREAM: StreamName = 'apiKey-key_1';
const EVENTS = [1, 2].map((number) => ({
  id: `01a00000-0000-7000-8000-00000000000${number}`,
  type: 'KeyRevoked' as const,
  data: { keyId: `key_${number}` },
}));

/** The second of two events, appended behind revision 4. */
const recordedBy = (key: Uint8Array): RecordedEvent => {
  const codec = createSealingCodec(createEventMacs([key]));
  const [, stored] = codec.encode(EVENTS, contextAt(NOW), { stream: STREAM, expected: 4 });
  if (stored === undefined) throw new Error('nothing was encoded');
  return { ...codec.decode(stored), stream: STREAM, revision: 6, position: '1' };
};

describe('the MAC of an event', () => {
  const event = recordedBy(OLD);
  const { isAuthentic } = createEventMacs([OLD]);

  test('proves that the service wrote it, and is no part of the leaf or of what readers see', () => {
    expect(isAuthentic(event)).toBe(true);
    expect(event.stored.metadata).toMatch(/,"schemaVersion":1,"mac":"[\w-]{22}"\}$/);
    const [, plain] = eventCodec.encode(EVENTS, contextAt(NOW), { stream: STREAM, expected: 4 });
    if (plain === undefined) throw new Error('nothing was encoded');
    const before: RecordedEvent = { ...eventCodec.decode(plain), stream: STREAM, revision: 6, position: '1' };
    expect(leafOf(event)).toBe(leafOf(before));
    expect(event.metadata).toEqual(before.metadata);
    expect(isAuthentic(before)).toBe(false);
  });

  test('is not computed again for an event that this process sealed, where it was sealed', () => {
    const macs = createEventMacs([OLD]);
    const codec = createSealingCodec({ ...macs, isAuthentic: () => false });
    const [, stored] = codec.encode(EVENTS, contextAt(NOW), { stream: STREAM, expected: 4 });
    if (stored === undefined) throw new Error('nothing was encoded');
    expect(codec.isAuthentic?.({ stored, stream: STREAM, revision: 6 })).toBe(true);
    expect(codec.isAuthentic?.({ stored, stream: STREAM, revision: 7 })).toBe(false);
    expect(codec.isAuthentic?.({ stored, stream: 'apiKey-key_2', revision: 6 })).toBe(false);
    expect(codec.isAuthentic?.({ stored: { ...stored }, stream: STREAM, revision: 6 })).toBe(false);
  });

  test.each<[string, Partial<RecordedEvent>]>([
    ['another stream', { stream: 'apiKey-key_2' }],
    ['another revision', { revision: 7 }],
    ['another id', { stored: { ...event.stored, id: '01a00000-0000-7000-8000-000000000009' } }],
    ['another type', { stored: { ...event.stored, type: 'KeyResumed' } }],
    ['other data', { stored: { ...event.stored, data: '{"keyId":"key_3"}' } }],
    [
      'other metadata',
      { stored: { ...event.stored, metadata: event.stored.metadata.replace('"actor":"', '"actor":"x') } },
    ],
    ['no MAC', { stored: { ...event.stored, metadata: '{"schemaVersion":1}' } }],
    [
      'two MACs',
      { stored: { ...event.stored, metadata: `${event.stored.metadata.slice(0, -1)},"mac":"${'A'.repeat(22)}"}` } },
    ],
    ['a shorter MAC', { stored: { ...event.stored, metadata: event.stored.metadata.replace(/.{3}"\}$/, '"}') } }],
  ])('is not valid with %s', (_, changed) => {
    expect(isAuthentic({ ...event, ...changed } as RecordedEvent)).toBe(false);
  });

  test('survives a rotation of its key, and is made by the first key only', () => {
    const { isAuthentic: either } = createEventMacs([NEW, OLD]);
    expect([either(event), either(recordedBy(NEW)), either(recordedBy(OTHER))]).toEqual([true, true, false]);
    expect(createEventMacs([NEW]).isAuthentic(event)).toBe(false);
  });
});
