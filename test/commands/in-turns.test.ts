import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { inTurns } from '../../src/commands/in-turns.ts';

/** A clock that only work moves on. */
const workClock = () => {
  let nowMs = 0;
  return {
    system: { monotonicMs: () => nowMs },
    work: (ms: number): void => {
      nowMs += ms;
    },
  };
};
const still = { monotonicMs: () => 0 };
const numbers = Array.from({ length: 20 }, (_, index) => index);

describe('work on many things in turns', () => {
  test('gives results in the order of the things, whichever is ready first', async () => {
    const results = await inTurns(numbers, { system: still, lanes: 20 }, async (number) => {
      await sleep(20 - number);
      return number * 2;
    });
    expect(results).toEqual(numbers.map((number) => number * 2));
  });

  test('has no more in hand at once than it has lanes', async () => {
    let inHand = 0;
    let most = 0;
    await inTurns(numbers, { system: still, lanes: 3 }, async () => {
      inHand += 1;
      most = Math.max(most, inHand);
      await sleep(1);
      inHand -= 1;
    });
    expect(most).toBe(3);
  });

  test.each([1, 20])('lets others have the event loop in between, with %d lanes', async (lanes) => {
    const { system, work } = workClock();
    const turns = new Set<number>();
    let turn = 0;
    const count = (): void => {
      turn += 1;
      if (turn < 100) setImmediate(count);
    };
    setImmediate(count);
    await inTurns(numbers, { system, lanes }, () => {
      turns.add(turn);
      work(4);
    });
    expect(turns.size).toBe(10);
  });

  test('fails where one of them fails', async () => {
    const work = (number: number): number => {
      if (number === 7) throw new Error('seven');
      return number;
    };
    await expect(inTurns(numbers, { system: still, lanes: 4 }, work)).rejects.toThrow('seven');
  });

  test('is done at once with nothing', async () => {
    expect(await inTurns([], { system: still, lanes: 4 }, () => 1)).toEqual([]);
  });
});
