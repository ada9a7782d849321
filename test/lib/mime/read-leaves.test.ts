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

  test('are read from a header with too many fields', () => {
    const fields = 'A: b\n'.repeat(2_001);
    expect(leaves(`${fields}\ntext`)).toEqual([['text/plain', 'text']]);
    expect(leaves(multipart(`${fields}\ntext`, '\nread')).map(([, text]) => text)).toEqual(['text', 'read']);
  });

  test.each([
    ['without parts', 'Content-Type: multipart/mixed; boundary=B\n\nnothing'],
    ['without a boundary', 'Content-Type: multipart/mixed\n\nnothing'],
  ])('are the text of a multipart %s', (_, text) => {
    expect(leaves(text)).toEqual([['text/plain', 'nothing']]);
  });

  test('end after a million lines', () => {
    const [[, text] = []] = leaves(`\n${'x\n'.repeat(1_000_002)}`);
    expect(text?.match(/x/g)).toHaveLength(1_000_000);
  });

  test('end at the bound of depth', () => {
    const nested = (depth: number): string =>
      depth === 0
        ? '\nlost'
        : `Content-Type: multipart/mixed; boundary=B${depth}\n\n--B${depth}\n\n${depth}\n--B${depth}\n${nested(depth - 1)}`;
    expect(leaves(nested(30)).map(([, text]) => text)).toEqual(Array.from({ length: 20 }, (_, at) => String(30 - at)));
  });

  test('do not include parts whose header fields exceed the bound of all', () => {
    expect(leaves(multipart('\nread', `A: ${'b'.repeat(300_000)}\n\nlost`)).map(([, text]) => text)).toEqual(['read']);
  });

  test('end at the bounds of parts', () => {
    expect(leaves(multipart(...Array.from({ length: 600 }, () => '\nx'))).length).toBe(499);
  });
});
