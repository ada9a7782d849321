import { createHmac, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { keyedBytes, keyedDigest, repeatedDigest } from '../../../src/domain/kernel/digest.ts';

test.each([0, 1, 32, 63, 64, 65, 200])(
  'a keyed digest under a secret of %d bytes is the platform’s HMAC-SHA256',
  (length) => {
    for (const text of [
      '',
      'someone@example.org',
      'jemand@bücher.example \0',
      'x'.repeat(1000),
      'ü'.repeat(6000),
      'half \ud83d'.repeat(2000),
    ]) {
      const secret = randomBytes(length);
      const expected = createHmac('sha256', secret).update(`address\0${text}`).digest();
      expect(keyedBytes(secret, 'address', text)).toEqual(expected);
      expect(keyedDigest(secret, 'address', text)).toBe(expected.subarray(0, 16).toString('hex'));
    }
  },
);

test('a cached digest is the same, for its own secret and purpose, however many there are', () => {
  const secrets = [randomBytes(32), randomBytes(32)];
  const texts = Array.from({ length: 700 }, (_, number) => `shop${number}@example.org`);
  for (const text of [...texts, ...texts]) {
    for (const secret of secrets) {
      for (const purpose of ['address', 'tag']) {
        expect(repeatedDigest(secret, purpose, text)).toBe(keyedDigest(secret, purpose, text));
      }
    }
  }
});
