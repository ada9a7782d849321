import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createSemaphore } from '../../../src/lib/async/semaphore.ts';

/** Work that is told when to end. */
const startWork = (semaphore: ReturnType<typeof createSemaphore>, weights: readonly number[]) => {
  const begun: number[] = [];
  const ends = weights.map(() => Promise.withResolvers<void>());
  const runs = weights.map((weight, index) =>
    semaphore.run(async () => {
      begun.push(index);
      await ends[index]?.promise;
    }, weight),
  );
  return {
    begun,
    end: async (index: number): Promise<void> => {
      ends[index]?.resolve();
      await runs[index];
    },
  };
};

describe('a semaphore', () => {
  test('admits work up to its capacity, and the next when some ends', async () => {
    const { begun, end } = startWork(createSemaphore({ capacity: 10 }), [4, 6, 1, 9]);
    await turn();
    expect(begun).toEqual([0, 1]);
    await end(1);
    expect(begun).toEqual([0, 1, 2]);
    await end(0);
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  test('runs work heavier than its capacity alone', async () => {
    const { begun, end } = startWork(createSemaphore({ capacity: 10 }), [25, 25, 1]);
    await turn();
    expect(begun).toEqual([0]);
    await end(0);
    expect(begun).toEqual([0, 1]);
    await end(1);
    expect(begun).toEqual([0, 1, 2]);
  });

  test('admits work in order, so that heavy work does not starve', async () => {
    const { begun, end } = startWork(createSemaphore({ capacity: 10 }), [6, 8, 1]);
    await turn();
    expect(begun).toEqual([0]);
    await end(0);
    expect(begun).toEqual([0, 1, 2]);
  });

  test('releases the weight of failed work', async () => {
    const semaphore = createSemaphore({ capacity: 1 });
    await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await semaphore.run(async () => 'done')).toBe('done');
  });

  test('refuses work when too much waits', async () => {
    const semaphore = createSemaphore({ capacity: 1, waitingMax: 1, busy: () => new Error('busy') });
    const { promise, resolve } = Promise.withResolvers<void>();
    const admitted = [semaphore.run(() => promise), semaphore.run(() => promise)];
    await expect(semaphore.run(async () => 'third')).rejects.toThrow('busy');
    resolve();
    await Promise.all(admitted);
    expect(await semaphore.run(async () => 'fourth')).toBe('fourth');
  });

  test('gives up work whose turn does not come in time', async () => {
    const semaphore = createSemaphore({ capacity: 1, timeout: { ms: 5 } });
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = semaphore.run(() => promise);
    await expect(semaphore.run(async () => 'second')).rejects.toThrow('no answer within 5 ms');
    resolve();
    await first;
    expect(await semaphore.run(async () => 'third')).toBe('third');
  });
});

test('owners of waiting work take turns', async () => {
  const semaphore = createSemaphore({ capacity: 1 });
  const ran: string[] = [];
  const run = (owner: string, name: string): Promise<void> =>
    semaphore.run(
      async () => {
        await turn();
        ran.push(name);
      },
      1,
      owner,
    );
  await Promise.all([run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1')]);
  expect(ran).toEqual(['a1', 'a2', 'b1', 'a3']);
});
