import { describe, expect, test } from 'vitest';
import type { DomainError } from '../../../src/domain/kernel/errors.ts';
import { createBoundedJson, type JsonBounds } from '../../../src/lib/http/bounded-json.ts';

const BOUNDS: JsonBounds = {
  bytesMax: 29_000_000,
  restBytesMax: 100_000,
  valuesMax: 3_000,
  contentsAt: ['attachments', null, 'content'],
};
const MARKER = 'content:marker:';

const read = async (text: string | Buffer, pieceBytes = Number.POSITIVE_INFINITY): Promise<unknown> => {
  const bytes = Buffer.from(text as string);
  const json = createBoundedJson(BOUNDS, MARKER);
  for (let from = 0; from < bytes.length; from += pieceBytes) json.add(bytes.subarray(from, from + pieceBytes));
  return json.end();
};

const refusalOf = async (text: string | Buffer, pieceBytes?: number): Promise<unknown> => {
  const error = (await read(text, pieceBytes).catch((reason: unknown) => reason)) as DomainError;
  return Object.values(error.details ?? { code: error.code }).flat()[0];
};

const base64 = Buffer.from(Array.from({ length: 3_000 }, (_, index) => (index * 7_919) & 255)).toString('base64');
const VALUES: readonly unknown[] = [
  { to: ['a@b.test'], n: -1.5e3, yes: true, no: null, '"\\': '\\"', 'é€': '💥', empty: {}, list: [] },
  { attachments: [{ filename: 'a"\\', content: base64 }, { content: '' }, { content: `${base64}${base64}` }, {}] },
  { attachments: [{ content: { content: 'x' } }], content: base64, x: { attachments: [{ content: base64 }] } },
  { attachments: { 0: { content: base64 } } },
  [{ content: 'x' }],
  'text',
  '',
  0,
  null,
];

describe('a body', () => {
  test.each([1, 2, 3, 7, 64, 1_000, 1e9])('reads the same in pieces of %i bytes', async (pieceBytes) => {
    for (const value of VALUES) {
      const plain = JSON.stringify(value);
      // PHP escapes `/`, and .NET escapes `+`.
      const escaped = plain.replaceAll('/', '\\/').replaceAll('+', '\\u002B');
      for (const text of [plain, escaped, JSON.stringify(value, null, 2)]) {
        expect(await read(text, pieceBytes)).toEqual(JSON.parse(text));
      }
    }
  });

  const buffers = { ...BOUNDS, takesBuffers: true };
  const readBuffers = async (text: string, pieceBytes: number): Promise<unknown> => {
    const json = createBoundedJson(buffers, MARKER);
    const bytes = Buffer.from(text);
    for (let from = 0; from < bytes.length; from += pieceBytes) json.add(bytes.subarray(from, from + pieceBytes));
    return json.end();
  };
  const attached = (data: string): string =>
    `{"attachments":[{"content":{"type":"Buffer","data":${data}},"filename":"a"}],"data":[1,2]}`;

  test.each([1, 2, 7, 1_000, 1e9])(
    'reads the bytes of a Buffer as base64, in pieces of %i bytes',
    async (pieceBytes) => {
      const file = Buffer.from(base64, 'base64');
      for (const bytes of [file, Buffer.alloc(0), Buffer.from([0]), Buffer.from([255, 0, 10])])
        for (const space of ['', ' ']) {
          const data = `[${[...bytes].join(`,${space}`)}${space}]`;
          expect(await readBuffers(attached(data), pieceBytes)).toEqual({
            attachments: [{ content: { type: 'Buffer', data: bytes.toString('base64') }, filename: 'a' }],
            data: [1, 2],
          });
        }
    },
  );

  test.each([
    ['[256]', 'bytes'],
    ['[99999999999999999999]', 'bytes'],
    ['[1 2]', 'invalid_json'],
    ['[1,]', 'invalid_json'],
    ['[,1]', 'invalid_json'],
    ['[01]', 'invalid_json'],
    ['[-1]', 'invalid_json'],
    ['[1.5]', 'invalid_json'],
    ['["1"]', 'invalid_json'],
    ['[[1]]', 'invalid_json'],
    ['[1', 'invalid_json'],
  ])('refuses %s as the bytes of a Buffer', async (data, problem) => {
    const error = await readBuffers(attached(data), 1e9).then(
      String,
      (one: DomainError) => `${one.code} ${one.message}`,
    );
    expect(error).toContain(problem);
  });

  test('counts the bytes of a Buffer as the content of an attachment, and only where one is allowed', async () => {
    const many = `[${'1,'.repeat(200_000)}1]`;
    expect(await readBuffers(attached(many), 65_536)).toMatchObject({ data: [1, 2] });
    expect(await refusalOf(attached(many))).toContain('must have at most 1000 items');
    const elsewhere = `{"content":{"type":"Buffer","data":${many}}}`;
    await expect(readBuffers(elsewhere, 1e9)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('is released except for its beginning', async () => {
    const bounds = { bytesMax: 10_000_000, restBytesMax: 10_000_000, valuesMax: 10 };
    const json = createBoundedJson(bounds, 'marker');
    const text = `["${'ä'.repeat(1_000_000)}"]`;
    for (let at = 0; at < text.length; at += 10_000) json.add(Buffer.from(text.slice(at, at + 10_000)));
    expect(json.sent.beginning()).toMatchObject({ isWhole: false });
    await json.end();
    json.release();
    expect(json.heldBytes()).toBe(0);
    const { bytes, isWhole } = json.sent.beginning();
    expect([bytes.length, bytes.buffer.byteLength < 300_000, isWhole]).toEqual([256_000, true, false]);
    expect(bytes.toString().startsWith('["ää')).toBe(true);
  });

  test('that is empty is undefined', async () => {
    expect(await read('')).toBeUndefined();
  });

  test('with repeated contents keeps the last ones', async () => {
    const text = `{"attachments":[{"content":"AAAA","content":"BBBB"},{"content":"CCCC"}],"attachments":[{"content":"DDDD"}]}`;
    expect(await read(text)).toEqual({ attachments: [{ content: 'DDDD' }] });
  });

  test.each([
    ['{"a":', 'invalid_json'],
    ['[}', 'invalid_json'],
    ['{"a":1]', 'invalid_json'],
    [']', 'invalid_json'],
    [',', 'invalid_json'],
    ['"\n"', 'invalid_json'],
    [Buffer.from([0x22, 0xff, 0x22]), 'invalid_json'],
    ['{"attachments":[{"content":"AA', 'invalid_json'],
    ['{"attachments":[{"content":"\\x"}]}', 'invalid_json'],
    ['{"__proto__":1}', 'invalid_json'],
    ['{"a":[{"\\u005f_proto__":1}]}', 'invalid_json'],
    ['{"constructor\\x":1}', 'invalid_json'],
    [`${'['.repeat(17)}`, `${'[0]'.repeat(16)} must not be nested deeper than 16 levels`],
    [`{"to":[${'1,'.repeat(1_000)}`, 'to must have at most 1000 items'],
    [`{"m":[{},{"h":{${'"a":1,'.repeat(1_000)}`, 'm[1].h must have at most 1000 keys'],
    [`{"${'k'.repeat(2_001)}`, 'body must not have a key longer than 2000 bytes'],
    [`{"a":[${`[${'1,'.repeat(900)}1],`.repeat(4)}`, 'body must have at most 3000 values in all'],
    [`{"a":"${'x'.repeat(100_000)}"`, 'body_too_large'],
    [`{"attachments":[{"content":"${'A'.repeat(29_000_000)}"`, 'body_too_large'],
  ])('%.40s is refused before its end has arrived', async (text, problem) => {
    expect(await refusalOf(text)).toBe(problem);
    expect(await refusalOf(text, 997)).toBe(problem);
  });

  test('uses about as much memory as it has bytes, even in pieces of one byte', () => {
    const json = createBoundedJson(BOUNDS, MARKER);
    const body = Buffer.from(`{"text":"${'x'.repeat(50_000)}","attachments":[{"content":"${'A'.repeat(1_500_000)}`);
    for (let at = 0; at < body.length; at += 1) json.add(body.subarray(at, at + 1));
    expect(json.heldBytes()).toBeLessThan(2 * body.length);
  });

  test('of 25 MB blocks the event loop only for a moment, whichever piece arrives', async () => {
    const body = Buffer.from(`{"attachments":[{"content":"${'QUJD'.repeat(6_000_000)}"}]}`);
    const json = createBoundedJson(BOUNDS, MARKER);
    const longest = { us: 0 };
    const timed = (work: () => void): void => {
      const before = process.threadCpuUsage();
      work();
      longest.us = Math.max(longest.us, process.threadCpuUsage(before).user);
    };
    for (let at = 0; at < body.length; at += 65_536) timed(() => json.add(body.subarray(at, at + 65_536)));
    const value = (await json.end()) as { attachments: { content: string }[] };
    expect(value.attachments[0]?.content).toHaveLength(24_000_000);
    expect(longest.us).toBeLessThan(30_000);
  });
});
