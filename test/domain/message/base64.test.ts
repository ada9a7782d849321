import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isBase64 } from '../../../src/domain/message/draft.ts';

const byExpression = (text: string): boolean =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);

describe('base64', () => {
  test('follows RFC 4648 §4', () => {
    const letters = fc.constantFrom(...'ABz09+/=-_ \n*é\0');
    const text = fc.oneof(fc.string({ unit: letters, maxLength: 12 }), fc.base64String(), fc.string());
    fc.assert(
      fc.property(text, (one) => {
        expect(isBase64(one)).toBe(byExpression(one));
      }),
      { numRuns: 5_000 },
    );
  });

  test.each(['====', 'A===', 'AA==AAAA', 'AA-_', 'AAAé', 'AAA\n', 'A'])(
    'is not %j, however long the text around it',
    (wrong) => {
      const long = 'QUJD'.repeat(40_000);
      for (const text of [wrong, `${long}${wrong}`, `${long}${wrong}${long}`]) expect(isBase64(text)).toBe(false);
      expect(isBase64(`${long}AA==`)).toBe(true);
    },
  );

  test('of 25 MB is checked in milliseconds, valid or not', () => {
    const long = 'QUJD'.repeat(6_000_000);
    for (const text of [long, `${long.slice(0, -8)}********`, '*'.repeat(25_000_000)]) {
      const before = process.threadCpuUsage();
      isBase64(text);
      expect(process.threadCpuUsage(before).user).toBeLessThan(100_000);
    }
  });
});
