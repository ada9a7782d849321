import { describe, expect, test } from 'vitest';
import { ownTurn, type Pausing, pacedBy } from '../../../src/lib/async/async.ts';

/** Counts turns of the event loop until it is stopped. */
const countTurns = () => {
  let turn = 0;
  let next = setImmediate(function count() {
    turn += 1;
    next = setImmediate(count);
  });
  return { now: () => turn, stop: () => clearImmediate(next) };
};

describe('turns of the event loop', () => {
  test('are never shared by callers that request their own', async () => {
    const turns = countTurns();
    const got: number[] = [];
    const take = async (): Promise<void> => {
      for (let count = 0; count < 5; count += 1) {
        await ownTurn();
        got.push(turns.now());
      }
    };
    await Promise.all([take(), take(), take()]);
    turns.stop();
    expect(new Set(got).size).toBe(15);
  });

  test('are yielded by paced work when one is used up, and not before', async () => {
    let left = 3;
    function* work(): Pausing<string> {
      for (let count = 0; count < 10; count += 1) {
        left -= 1;
        yield;
      }
      return 'done';
    }
    const turns = countTurns();
    const pieces = new Map<number, number>();
    const result = await pacedBy(() => {
      const isOver = left === 0;
      if (isOver) pieces.set(turns.now(), 3);
      if (isOver) left = 3;
      return isOver;
    }, work());
    turns.stop();
    expect([result, pieces.size]).toEqual(['done', 3]);
  });

  test('are not yielded by paced work that is short', async () => {
    function* work(): Pausing<number> {
      yield;
      yield;
      return 1;
    }
    let isLater = false;
    const later = setImmediate(() => {
      isLater = true;
    });
    expect(await pacedBy(() => false, work())).toBe(1);
    expect(isLater).toBe(false);
    clearImmediate(later);
  });
});
