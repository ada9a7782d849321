import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { mapConcurrently } from '../../../src/lib/async/turns.ts';

/** A clock that only advances during work. */
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

describe('mapping concurrently', () => {
  test('returns results in the order of the items, whichever is ready first', async () => {
    const results = await mapConcurrently(numbers, { system: still, concurrency: 20 }, async (number) => {
      await sleep(20 - number);
      return number * 2;
    });
    expect(results).toEqual(numbers.map((number) => number * 2));
  });

  test('limits the calls in flight', async () => {
    let inFlight = 0;
    let most = 0;
    await mapConcurrently(numbers, { system: still, concurrency: 3 }, async () => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await sleep(1);
      inFlight -= 1;
    });
    expect(most).toBe(3);
  });

  test.each([1, 20])('yields to the event loop in between, with a concurrency of %d', async (concurrency) => {
    const { system, work } = workClock();
    const turns = new Set<number>();
    let turn = 0;
    const count = (): void => {
      turn += 1;
      if (turn < 100) setImmediate(count);
    };
    setImmediate(count);
    await mapConcurrently(numbers, { system, concurrency }, () => {
      turns.add(turn);
      work(4);
    });
    expect(turns.size).toBe(11);
  });

  test('does no more in a turn when several batches are mapped at the same time', async () => {
    const { system, work } = workClock();
    const msOfTurn = new Map<number, number>();
    let turn = 0;
    let next = setImmediate(function count() {
      turn += 1;
      next = setImmediate(count);
    });
    await Promise.all(
      Array.from({ length: 8 }, () =>
        mapConcurrently(numbers, { system, concurrency: 20 }, () => {
          msOfTurn.set(turn, (msOfTurn.get(turn) ?? 0) + 4);
          work(4);
        }),
      ),
    );
    clearImmediate(next);
    expect([...msOfTurn.values()].reduce((sum, ms) => sum + ms, 0)).toBe(8 * numbers.length * 4);
    const [first, ...later] = msOfTurn.values();
    expect(first).toBe(8 * 4);
    expect(Math.max(...later)).toBe(8);
  });

  test('rejects when one call fails', async () => {
    const work = (number: number): number => {
      if (number === 7) throw new Error('seven');
      return number;
    };
    await expect(mapConcurrently(numbers, { system: still, concurrency: 4 }, work)).rejects.toThrow('seven');
  });

  test('resolves at once without items', async () => {
    expect(await mapConcurrently([], { system: still, concurrency: 4 }, () => 1)).toEqual([]);
  });
});
