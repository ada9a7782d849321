import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyHash } from '../../../../src/lib/smtp/smtp.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64');

/** A literal implementation of RFC 6376 §3.4.4. */
const relaxed = (body: string): string => {
  const lines = body.split('\r\n').map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''));
  while (lines.at(-1) === '') lines.pop();
  return lines.map((line) => `${line}\r\n`).join('');
};

const hashed = (...chunks: readonly string[]): Promise<string> => bodyHash(chunks.map((chunk) => Buffer.from(chunk)));

describe('the hash of a body', () => {
  it('is that of the example in RFC 8463', async () => {
    const body = 'Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n';
    expect(await hashed(body)).toBe('2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=');
  });

  it('of nothing, of line ends and of white space is that of an empty body', async () => {
    const nothing = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';
    expect(await hashed()).toBe(nothing);
    expect(await hashed('\r\n', '\r\n\r\n')).toBe(nothing);
    expect(await hashed(' \r\n', '\t \r\n', '\r\n')).toBe(nothing);
  });

  it('is what the RFC specifies, wherever the body is split', async () => {
    const line = fc
      .array(fc.constantFrom(' ', '  ', '\t', 'a', '=', 'é', '.', 'word'), { maxLength: 8 })
      .map((words) => `${words.join('')}\r\n`);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(line, { maxLength: 6 }), { maxLength: 6 }), async (chunks) => {
        const whole = chunks.flat().join('');
        expect(await hashed(...chunks.map((lines) => lines.join('')))).toBe(sha256(relaxed(whole)));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['lines of any length', 'x'.repeat(997)],
    ['lines of white space', ` ${'\t '.repeat(400)}a `],
    ['empty lines', ''],
  ])('of 10 MB of %s is the same, and blocks nothing else', async (_, line) => {
    const chunk = `${line}\r\n`.repeat(Math.ceil(2_500_000 / (line.length + 2)));
    const chunks = [chunk, chunk, chunk, chunk, 'end\r\n'];
    let turns = 0;
    let isDone = false;
    const countTurn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(countTurn);
    };
    setImmediate(countTurn);
    const digest = await hashed(...chunks);
    isDone = true;
    expect(digest).toBe(sha256(relaxed(chunks.join(''))));
    expect(turns).toBeGreaterThan(30); // at most a quarter of a megabyte each
  });

  it('of a line that continues in the next chunk is refused', async () => {
    await expect(hashed('a', 'b\r\n')).rejects.toThrow('whole lines');
    await expect(hashed('x'.repeat(100_000), '\r\n')).rejects.toThrow('whole lines');
  });
});
