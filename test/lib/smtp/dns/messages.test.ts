import { encode } from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BadReply,
  readAnswer,
  readIpv4,
  readMx,
  readReply,
  readTlsa,
  readTxt,
} from '../../../../src/lib/smtp/dns/messages.ts';
import { processorMs } from '../../../support/processor-time.ts';

const ID = 7;
const NAME = 'example.test';
const question = { name: NAME, type: 'TXT' } as const;
const of = { name: NAME, ttl: 60 };

const whole = encode({
  type: 'response',
  id: ID,
  flags: 0x0180,
  questions: [question],
  answers: [
    { ...of, type: 'TXT', data: ['v=spf1', ' -all'] },
    { ...of, type: 'MX', data: { preference: 10, exchange: 'mx.test' } },
    { ...of, type: 'A', data: '192.0.2.1' },
    { ...of, type: 'TLSA', data: { usage: 3, selector: 1, matchingType: 1, certificate: Buffer.alloc(32, 7) } },
    { name: 'alias.test', ttl: 60, type: 'CNAME', data: NAME },
  ],
  authorities: [{ ...of, type: 'SOA', data: { mname: 'ns.test', rname: 'root.test', minimum: 30 } }],
});

/** Runs every reader on an untrusted message. */
const read = (message: Buffer) => {
  const reply = readReply(message, ID, question);
  if (reply === null) return null;
  return [readTxt, readMx, readIpv4, readTlsa].map((each) => readAnswer<unknown>(reply, NAME, each).answer.records);
};

const readOrRefused = (message: Buffer): void => {
  try {
    read(message);
  } catch (error) {
    expect(error).toBeInstanceOf(BadReply);
  }
};

describe('a message', () => {
  test('is read as it is', () => {
    expect(read(whole)).toEqual([
      ['v=spf1 -all'],
      [{ exchange: 'mx.test', preference: 10 }],
      [{ address: '192.0.2.1', family: 4 }],
      [{ usage: 3, selector: 1, matchingType: 1, data: '07'.repeat(32) }],
    ]);
  });

  test('that is cut off anywhere is not read in part', () => {
    for (let length = 12; length < whole.length; length += 1) {
      expect(() => read(whole.subarray(0, length)), `at ${length}`).toThrow(BadReply);
    }
    for (let length = 0; length < 12; length += 1) expect(read(whole.subarray(0, length))).toBeNull();
  });

  test('with any bytes changed is read, refused or ignored as foreign, and never a fault', () => {
    const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const changed = Buffer.from(whole);
        for (const [at, byte] of changes) changed[at] = byte;
        readOrRefused(changed);
      }),
      { numRuns: 5000 },
    );
  });

  test('of any bytes is refused or ignored as foreign', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const message = Buffer.concat([Buffer.from([0, ID]), Buffer.from(bytes)]);
        readOrRefused(message);
      }),
      { numRuns: 5000 },
    );
  });

  test('whose names are pointers to pointers is read quickly', () => {
    const message = Buffer.alloc(65_535);
    encode({ type: 'response', id: ID, questions: [question] }).copy(message);
    message.writeUInt16BE(300, 6);
    const first = 12 + NAME.length + 2 + 4;
    // A record of an unknown type. Its data is a chain of pointers, each to the previous one.
    const ladder = 16_000;
    message.writeUInt16BE(0xc000 | 12, first);
    message.writeUInt16BE(0xff00, first + 2);
    message.writeUInt16BE(1, first + 4);
    message.writeUInt16BE(ladder, first + 10);
    for (let at = first + 12; at < first + 12 + ladder; at += 2) {
      message.writeUInt16BE(0xc000 | (at === first + 12 ? 12 : at - 2), at);
    }
    const top = Math.min(first + 12 + ladder - 2, 0x3ffe);
    for (let at = first + 12 + ladder; at + 12 < message.length; at += 12) {
      message.writeUInt16BE(0xc000 | top, at);
      message.writeUInt16BE(16, at + 2);
      message.writeUInt16BE(1, at + 4);
    }
    expect(processorMs(() => expect(read(message)).not.toBeNull())).toBeLessThan(500);
  });
});
