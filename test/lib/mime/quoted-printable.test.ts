import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { textPart } from '../../../src/lib/mime/mime-part.ts';

/** The body of a part whose encoding is quoted-printable: a line that is too long for 7bit makes it so. */
const written = (text: string): string => {
  const { head, content } = textPart('plain', `${text}\r\n${'x'.repeat(999)}`, '=_boundary');
  expect(head).toContain('quoted-printable');
  return String(content[0]);
};

const firstLine = (text: string): string => written(text).split('\r\n', 1)[0] ?? '';

describe('a text in quoted-printable', () => {
  test('escapes what is not printable, the equals sign and white space at the end of a line', () => {
    expect(firstLine('a=b\u00e9\u0001 \t')).toBe('a=3Db=C3=A9=01 =09');
    expect(firstLine('a b\tc')).toBe('a b\tc');
  });

  test.each([72, 73, 74, 75, 76])('breaks a line before an escape that would not fit after %i characters', (length) => {
    const [first = '', second = ''] = written(`${'a'.repeat(length)}=${'b'.repeat(20)}`).split('=\r\n');
    expect(first + second).toBe(`${'a'.repeat(length)}=3D${'b'.repeat(20)}${second.slice(second.indexOf('\r\n'))}`);
    expect(first.length).toBe(length <= 72 ? 75 : Math.min(length, 75));
  });

  test('has no line of more than 76 characters, and no escape that is divided (RFC 2045 §6.7)', () => {
    const unit = fc.constantFrom('a', '=', ' ', '\t', 'é', '😀', '\r\n', 'x'.repeat(40));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
        for (const line of written(text).split('\r\n')) {
          expect(line.length).toBeLessThanOrEqual(76);
          expect(line.replace(/=$/, '')).toMatch(/^(?:[\t -<>-~]|=[0-9A-F]{2})*$/);
          expect(line).not.toMatch(/[\t ]$/);
        }
      }),
    );
  });
});
