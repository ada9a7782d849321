import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { FastifyReply } from 'fastify';
import { describe, expect, test } from 'vitest';
import { jsonAnswer, jsonPieces } from '../../src/lib/http/answers.ts';

const LONG = `${'😀'.repeat(60_000)}"\\\n\0\ud800${'x'.repeat(500_000)}`;

const VALUES: Readonly<Record<string, unknown>> = {
  'a long text with pairs, quotes and control characters': LONG,
  'pairs at every odd place': `x${LONG}`,
  'nested values': { a: [1, null, true, 'x', [], {}, { b: undefined, c: [LONG, LONG] }], 'd"': LONG },
  'values without JSON in a list': [undefined, () => 1],
  'a date': { at: new Date(0) },
  'a text of its own': 'x',
};

describe('a large JSON answer', () => {
  test.each(Object.entries(VALUES))('is the same in pieces: %s', (_, value) => {
    expect([...jsonPieces(value)].join('')).toBe(JSON.stringify(value));
  });

  test('has no piece that takes long to write', () => {
    const pieces = [...jsonPieces({ text: 'x'.repeat(3_000_000), list: Array.from({ length: 100_000 }, () => 'abc') })];
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(110_000);
  });

  test('is streamed with its type, and a small one is unchanged', async () => {
    const headers: string[] = [];
    const reply = { type: (type: string) => headers.push(type) } as unknown as FastifyReply; // the only method used
    const small = { a: 'x' };
    expect(jsonAnswer(reply, small)).toBe(small);
    const stream = new Readable();
    expect(jsonAnswer(reply, stream)).toBe(stream);
    expect(headers).toEqual([]);
    const large = jsonAnswer(reply, { text: LONG });
    expect(headers).toEqual(['application/json; charset=utf-8']);
    expect(await text(large as Readable)).toBe(JSON.stringify({ text: LONG }));
  });
});
