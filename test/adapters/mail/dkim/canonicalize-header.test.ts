import { expect, it } from 'vitest';
import { relaxedHeader } from '../../../../src/lib/smtp/smtp.ts';

it.each([
  ['what RFC 6376 §3.4.5 shows', ' Y\t\r\n\tZ  ', 'Y Z'],
  ['an empty value', ' ', ''],
  ['a value on the next line', '\r\n value', 'value'],
  ['a value that is as it must be', 'a b', 'a b'],
  ['white space that only Unicode calls so', ' \u00a0a\u00a0\u3000\u00a0b\u2003 ', '\u00a0a\u00a0\u3000\u00a0b\u2003'],
])('a relaxed header field, of %s', (_, value, relaxed) => {
  expect(relaxedHeader('name', value)).toBe(`name:${relaxed}\r\n`);
});
