import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalBase64, canonicalBase64InTurns } from '../../../src/lib/mime/mime-part.ts';

const written = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

test('base64 in turns equals base64 at once, however it was written', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.nat(3), fc.nat(300), async (bytes, way, at) => {
      const text = written(bytes);
      const ways = [text, text.replaceAll('+', '-').replaceAll('/', '_'), text.replace(/=+$/, '')];
      const given = ways[way] ?? `${text.slice(0, at)}\r\n${text.slice(at)}`;
      expect(await canonicalBase64InTurns(given)).toBe(text);
      expect(canonicalBase64(given)).toBe(text);
    }),
  );
});

test.each([0, 749_999, 750_000, 750_001, 2_250_003])(
  '%d bytes are unchanged, with or without padding',
  async (length) => {
    const text = written(Buffer.alloc(length, 0xfb));
    expect(await canonicalBase64InTurns(text)).toBe(text);
    expect(await canonicalBase64InTurns(`${text.slice(0, -1)} ${text.slice(-1)}`)).toBe(text);
  },
);

test('decoding the largest attachment yields turns to others', async () => {
  const text = written(Buffer.alloc(18_000_000, 1));
  let isOver = false;
  let turns = 0;
  const count = (): void => {
    if (isOver) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await canonicalBase64InTurns(text);
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(20);
});
