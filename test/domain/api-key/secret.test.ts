import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatSecret, readSecret, secretFacts } from '../../../src/domain/api-key/secret.ts';

describe('a key value', () => {
  test('has the documented shape and shows its environment', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.constantFrom('live', 'test'),
        (bytes, environment) => {
          const value = formatSecret(environment, bytes);
          expect(value).toMatch(/^ob_(live|test)_[0-9A-Za-z]{49}$/);
          expect(readSecret(value)).toBe(environment);
        },
      ),
    );
  });

  test('with any one character changed is refused by its checksum', () => {
    const value = formatSecret('live', randomBytes(32));
    for (let index = 'ob_live_'.length; index < value.length; index += 1) {
      const other = value[index] === 'a' ? 'b' : 'a';
      expect(readSecret(value.slice(0, index) + other + value.slice(index + 1))).toBeNull();
    }
  });

  test.each(['', 'ob_live_', 'sk_live_x', `ob_live_${'a'.repeat(49)}`, `ob_prod_${'0'.repeat(49)}`])(
    '%j is refused',
    (value) => {
      expect(readSecret(value)).toBeNull();
    },
  );

  test('keeps nothing but its hash and eight characters', () => {
    const value = formatSecret('test', randomBytes(32));
    const facts = secretFacts(value);
    expect(facts).toEqual({
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      first4: value.slice(8, 12),
      last4: value.slice(-4),
    });
    expect(JSON.stringify(facts)).not.toContain(value.slice(8, 30));
  });
});
