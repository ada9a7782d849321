import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createSlices } from '../../../src/lib/async/turns.ts';

/** Runs all work, each piece of which takes `eachMs` by its own clock. @returns names, grouped by turn. */
const runAll = async (work: readonly (readonly [owner: string, name: string])[], eachMs: number) => {
  let nowMs = 0;
  const slices = createSlices(() => nowMs);
  const ran: string[][] = [];
  let current: string[] = [];
  for (const [owner, name] of work)
    slices.run(owner, () => {
      void (async () => {
        // The work of a woken reader passes through several promises.
        for (let hop = 0; hop < 3; hop += 1) await undefined;
        nowMs += eachMs;
        current.push(name);
      })();
    });
  for (let turn = 0; ran.flat().length < work.length; turn += 1) {
    expect(turn).toBeLessThan(10 * work.length);
    await nextTurn();
    ran.push(current);
    current = [];
  }
  return ran.filter((names) => names.length > 0);
};

describe('slices', () => {
  test('contain as much work as fits into 5 ms, including what the work starts', async () => {
    const ran = await runAll(
      Array.from({ length: 1_000 }, (_, index) => ['acme', String(index)] as const),
      1,
    );
    expect(ran.flat()).toHaveLength(1_000);
    expect(Math.max(...ran.map((names) => names.length))).toBeLessThanOrEqual(6);
  });

  test('give owners turns: one that has much to do does not delay another', async () => {
    const ran = await runAll(
      [...Array.from({ length: 100 }, (_, index) => ['greedy', `g${index}`] as const), ['other', 'o']],
      1,
    );
    expect(ran[0]).toContain('o');
  });

  test('take short work in one turn', async () => {
    const ran = await runAll(
      Array.from({ length: 50 }, (_, index) => ['acme', String(index)] as const),
      0,
    );
    expect(ran).toHaveLength(1);
  });
});
