import streams from '@eventstore/db-client/generated/streams_pb.js';
import { describe, expect, test } from 'vitest';
import {
  createWriter,
  decodeAppended,
  decodeRead,
  encodeAppend,
  encodeRead,
  readDigits,
  type Writer,
  writeDigits,
  writeMessage,
  writeNumber,
  writeText,
  written,
} from '../../../src/lib/event-log/eventstoredb-protocol.ts';

const ULONG_MAX = 0xffff_ffff_ffff_ffffn;
/** A message with these fields, in the given order. */
const messageOf = (...fields: readonly ((writer: Writer) => void)[]): Buffer => {
  const writer = createWriter(4_096);
  for (const field of fields.toReversed()) field(writer);
  return written(writer);
};
const number = (field: number, value: number) => (writer: Writer) => writeNumber(writer, field, value);
const text = (field: number, value: string) => (writer: Writer) => writeText(writer, field, value);
const message =
  (field: number, ...fields: readonly ((writer: Writer) => void)[]) =>
  (writer: Writer) =>
    writeMessage(writer, field, () => {
      for (const each of fields.toReversed()) each(writer);
    });
const raw = (bytes: readonly number[]) => (writer: Writer) => {
  writer.at -= bytes.length;
  writer.bytes.set(bytes, writer.at);
};

const FIXED_64_FIELD = raw([(14 << 3) | 1, 1, 2, 3, 4, 5, 6, 7, 8]);
const FIXED_32_FIELD = raw([(15 << 3) | 5, 1, 2, 3, 4]);
/** Fields that a newer server may add to any message. */
const UNKNOWN = [number(12, 300), text(13, 'x'.repeat(200)), FIXED_64_FIELD, FIXED_32_FIELD];

describe('messages of EventStoreDB', () => {
  test.each([0n, 1n, 127n, 128n, 0xfff_ffffn, 0x1000_0000n, 2n ** 53n + 1n, ULONG_MAX])(
    'keep a position of %s exactly',
    (value) => {
      const digits = value.toString(16).padStart(16, '0');
      const bytes = messageOf((writer) => writeDigits(writer, 1, digits)).subarray(1);
      expect(readDigits({ bytes, at: 0 })).toBe(digits);
    },
  );

  test('are read past the fields that a newer server adds', () => {
    const position = message(3, ...UNKNOWN, number(1, 5), number(2, 4), ...UNKNOWN);
    expect(decodeRead(messageOf(...UNKNOWN, position, ...UNKNOWN))).toEqual({
      kind: 'checkpoint',
      position: '00000000000000050000000000000004',
    });
    const event = message(1, message(1, message(1, text(2, 'id-1')), ...UNKNOWN, text(8, '{"a":1}')));
    expect(decodeRead(messageOf(event))).toMatchObject({
      kind: 'event',
      event: { id: 'id-1', revision: 0, data: '{"a":1}', metadata: '' },
    });
  });

  test('written earlier can be read by the generated classes', () => {
    const events = [1, 2].map((count) => ({
      id: crypto.randomUUID(),
      type: `Thing${count}`,
      data: JSON.stringify({ text: 'größer → 🎈'.repeat(count * 100) }),
      metadata: '{"schemaVersion":1}',
      bytes: 10_000,
    }));
    const to = { stream: `thing-${'ß'.repeat(300)}`, expected: 2 ** 40 };
    const bytes = encodeAppend({ number: 300, events, to, isLast: true });
    const { correlationId, options, isFinal, proposedMessagesList } =
      streams.BatchAppendReq.deserializeBinary(bytes).toObject();
    expect(correlationId?.string).toBe('00000000-0000-4000-8000-00000000012c');
    const stream = Buffer.from(String(options?.streamIdentifier?.streamName), 'base64').toString();
    expect([isFinal, stream, options?.streamPosition]).toEqual([true, to.stream, String(to.expected)]);
    const read = proposedMessagesList.map(({ id, data, customMetadata, metadataMap }) => ({
      id: id?.string,
      data: Buffer.from(String(data), 'base64').toString(),
      metadata: Buffer.from(String(customMetadata), 'base64').toString(),
      type: new Map(metadataMap).get('type'),
    }));
    expect(read).toEqual(events.map(({ bytes: _, ...event }) => event));

    const query = { after: '', prefixes: ['a-', 'b-'], checkpointWindows: 8 } as const;
    const asked = streams.ReadReq.deserializeBinary(encodeRead(query)).toObject().options;
    expect(asked?.filter?.streamIdentifier?.prefixList.toSorted()).toEqual(['a-', 'b-']);
    expect(asked?.filter?.checkpointintervalmultiplier).toBe(8);
    const back = { stream: `thing-${'ß'.repeat(3_000)}`, from: 7, way: 'backwards', count: 5 } as const;
    const asks = streams.ReadReq.deserializeBinary(encodeRead(back)).toObject().options;
    expect([asks?.stream?.revision, asks?.count, asks?.readDirection]).toEqual(['7', '5', 1]);
  });

  test('that are refusals are left to the generated classes, with the number of their append', () => {
    const correlation = message(1, text(2, '00000000-0000-4000-8000-0000000000ff'));
    const bytes = messageOf(correlation, message(2, text(2, 'no')));
    expect(decodeAppended(bytes)).toEqual({ number: 255, refusal: bytes });
  });

  test('of another engine are not asked for', () => {
    expect(() => encodeRead({ all: '0000000000000007', way: 'forwards', count: 1 })).toThrow(RangeError);
  });

  test('name the stream of an append in its first part only', () => {
    const events = [{ id: crypto.randomUUID(), type: 'Thing', data: '{}', metadata: '{}', bytes: 4 }];
    const to = { stream: 'thing-1', expected: 3 };
    const [first, later] = [to, null].map((each) =>
      encodeAppend({ number: 1, events, to: each, isLast: each === null }),
    );
    expect([first?.includes('thing-1'), later?.includes('thing-1')]).toEqual([true, false]);
  });
});
