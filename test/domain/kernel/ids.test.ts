import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOfId, formatId, formatTimedId, ID_PREFIXES, isId, timeInId } from '../../../src/domain/kernel/ids.ts';

describe('an id', () => {
  test('is its prefix and 26 base32 characters of 16 bytes (RFC 4648 §6)', () => {
    expect(formatId('msg', new Uint8Array(16))).toBe(`msg_${'a'.repeat(26)}`);
    expect(formatId('msg', Buffer.from('ffffffffffffffffffffffffffffffff', 'hex'))).toBe(`msg_${'7'.repeat(25)}4`);
    expect(formatId('key', Buffer.from('foobarfoobarfoob'))).toBe('key_mzxw6ytbojtg633cmfzgm33pmi');
  });
  test('differs for different bytes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 16, maxLength: 16 }),
        fc.uint8Array({ minLength: 16, maxLength: 16 }),
        (left, right) => {
          expect(formatId('msg', left) === formatId('msg', right)).toBe(Buffer.compare(left, right) === 0);
        },
      ),
    );
  });
  test('is recognised by its shape', () => {
    for (const prefix of ID_PREFIXES) expect(isId(prefix, formatId(prefix, randomBytes(16)))).toBe(true);
    for (const text of [
      '',
      'msg_',
      'msg_UPPER',
      `key_${'a'.repeat(26)}`,
      `msg_${'a'.repeat(27)}`,
      `msg_${'1'.repeat(26)}`,
    ]) {
      expect(isId('msg', text)).toBe(false);
    }
  });
  test('may begin with the time, in milliseconds, and is random after it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 48 - 1 }),
        fc.uint8Array({ minLength: 10, maxLength: 32 }),
        (atMs, bytes) => {
          const id = formatTimedId('msg', atMs, bytes);
          expect(isId('msg', id)).toBe(true);
          expect(bytesOfId(id).readUIntBE(0, 6)).toBe(atMs);
          expect(timeInId(id)).toBe(atMs);
          expect([...bytesOfId(id).subarray(6)]).toEqual([...bytes.subarray(0, 10)]);
        },
      ),
    );
  });
});
