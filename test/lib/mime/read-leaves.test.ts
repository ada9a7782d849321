import { describe, expect, test } from 'vitest';
import { readLeaves } from '../../../src/lib/mime/mime.ts';

const leaves = (text: string): readonly (readonly [type: string, content: string])[] =>
  readLeaves(Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1')).map((leaf) => [
    leaf.type.value,
    leaf.bytes().toString('latin1'),
  ]);

const multipart = (...parts: readonly string[]): string =>
  `Content-Type: multipart/mixed; boundary=B\n\n${parts.map((part) => `--B\n${part}\n`).join('')}--B--\n`;

describe('the leaves of a message', () => {
  test('are read although its header is not UTF-8', () => {
    expect(leaves('Subject: \xfc\n\ntext')).toEqual([['text/plain', 'text']]);
  });

  test('have their undecoded content if the transfer encoding is not known', () => {
    const unknown = 'Content-Type: text/html\nContent-Transfer-Encoding: x-uuencode\n\nbegin';
    expect(leaves(multipart(unknown, '\nplain'))).toEqual([
      ['text/html', 'begin'],
      ['text/plain', 'plain'],
    ]);
  });

  test('do not include a part with too many header fields', () => {
    expect(leaves(multipart(`${'A: b\n'.repeat(2_001)}\nlost`, '\nread'))).toEqual([['text/plain', 'read']]);
  });

  test.each([
    ['a multipart without parts', 'Content-Type: multipart/mixed; boundary=B\n\nnothing'],
    ['a multipart without a boundary', 'Content-Type: multipart/mixed\n\n--B\n\ntext'],
    ['a header with too many fields', `${'A: b\n'.repeat(2_001)}\ntext`],
    ['a million lines', '\n'.repeat(1_000_002)],
  ])('are not found in %s', (_, text) => {
    expect(leaves(text)).toEqual([]);
  });

  test('end at the bounds of parts', () => {
    expect(leaves(multipart(...Array.from({ length: 600 }, () => '\nx'))).length).toBe(499);
  });
});
