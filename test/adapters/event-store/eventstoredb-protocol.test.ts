import { describe, expect, test } from 'vitest';
import { decodeAppended, encodeAppend } from '../../../src/adapters/event-store/eventstoredb-protocol-append.ts';
import { decodeRead, encodeRead } from '../../../src/adapters/event-store/eventstoredb-protocol-read.ts';
import { bytesField, numberField, readDigits, textField } from '../../../src/adapters/event-store/protobuf.ts';

const ULONG_MAX = 0xffff_ffff_ffff_ffffn;
const FIXED_64_FIELD = Buffer.from([(14 << 3) | 1, 1, 2, 3, 4, 5, 6, 7, 8]);
const FIXED_32_FIELD = Buffer.from([(15 << 3) | 5, 1, 2, 3, 4]);
/** What a newer server may add to any message. */
const UNKNOWN = [numberField(12, 300), ...bytesField(13, Buffer.alloc(200)), FIXED_64_FIELD, FIXED_32_FIELD];

describe('messages of EventStoreDB', () => {
  test.each([0n, 1n, 127n, 128n, 0xfff_ffffn, 0x1000_0000n, 2n ** 53n + 1n, ULONG_MAX])(
    'keep a position of %s exactly',
    (value) => {
      const bytes = Buffer.from(numberField(1, value)).subarray(1);
      expect(readDigits({ bytes, at: 0 })).toBe(value.toString(16).padStart(16, '0'));
    },
  );

  test('are read past the fields that a newer server adds', () => {
    const position = bytesField(3, ...UNKNOWN, numberField(1, 5), numberField(2, 4), ...UNKNOWN);
    const checkpoint = Buffer.concat([...UNKNOWN, ...position, ...UNKNOWN]);
    expect(decodeRead(checkpoint)).toEqual({
      kind: 'checkpoint',
      position: '00000000000000050000000000000004',
    });
    const event = bytesField(
      1,
      ...bytesField(1, ...bytesField(1, ...textField(2, 'id-1')), ...UNKNOWN, ...bytesField(8, Buffer.from('{"a":1}'))),
    );
    expect(decodeRead(Buffer.concat([...event]))).toMatchObject({
      kind: 'event',
      event: { id: 'id-1', revision: 0, data: { a: 1 }, metadata: undefined },
    });
  });

  test('that are refusals are left to the generated classes, with the number of their append', () => {
    const correlation = bytesField(1, ...textField(2, '00000000-0000-4000-8000-0000000000ff'));
    const bytes = Buffer.concat([...correlation, ...bytesField(2, ...textField(2, 'no'))]);
    expect(decodeAppended(bytes)).toEqual({ number: 255, refusal: bytes });
  });

  test('of another engine are not asked for', () => {
    expect(() => encodeRead({ all: '0000000000000007', way: 'forwards', count: 1 })).toThrow(RangeError);
  });

  test('say where an append goes in its first part alone', () => {
    const events = [{ id: crypto.randomUUID(), type: 'Thing', data: Buffer.from('{}'), metadata: Buffer.from('{}') }];
    const to = { stream: 'thing-1', expected: 3 };
    const [first, later] = [to, null].map((each) =>
      encodeAppend({ number: 1, events, to: each, isLast: each === null }),
    );
    expect([first?.includes('thing-1'), later?.includes('thing-1')]).toEqual([true, false]);
  });
});
