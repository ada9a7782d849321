import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createSemaphore } from '../../../src/lib/async/semaphore.ts';

/** Starts tasks that the test ends. */
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

  test('runs work heavier than its capacity on its own', async () => {
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

  test('gives up work that does not get its turn in time', async () => {
    const semaphore = createSemaphore({ capacity: 1, timeout: { ms: 5 } });
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = semaphore.run(() => promise);
    await expect(semaphore.run(async () => 'second')).rejects.toThrow('no answer within 5 ms');
    resolve();
    await first;
    expect(await semaphore.run(async () => 'third')).toBe('third');
  });
});

describe('work that waits behind heavy work', () => {
  // Long time-outs share a timer, which the first of them starts.
  beforeAll(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterAll(() => void vi.useRealTimers());

  /** Half of the capacity is in use, so that heavy work must wait, and light work only because of it. */
  const openHalfFull = () => {
    const semaphore = createSemaphore({ capacity: 2, timeout: { ms: 10_000 } });
    const { promise, resolve } = Promise.withResolvers<void>();
    const running = semaphore.run(() => promise);
    const end = (): Promise<void> => {
      resolve();
      return running;
    };
    return { semaphore, end };
  };

  test('gets its turn when that gives up', async () => {
    const { semaphore, end } = openHalfFull();
    const heavy = expect(semaphore.run(async () => 'heavy', 2)).rejects.toThrow('no answer within 10000 ms');
    vi.advanceTimersByTime(6_000);
    const light = semaphore.run(async () => 'light');
    vi.advanceTimersByTime(7_000);
    await heavy;
    expect(await light).toBe('light');
    await end();
  });

  test('keeps no room if it gives up at the same moment', async () => {
    const { semaphore, end } = openHalfFull();
    const both = Promise.allSettled([semaphore.run(async () => 'heavy', 2), semaphore.run(async () => 'light')]);
    vi.advanceTimersByTime(13_000);
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await end();
    const { begun, end: endWork } = startWork(semaphore, [1, 1]);
    await turn();
    expect(begun).toEqual([0, 1]);
    for (const index of begun) await endWork(index);
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

describe('with a share for each owner', () => {
  /** @returns names of the running tasks in order of their start. Tasks only end when the test ends them. */
  const open = (options: Partial<Parameters<typeof createSemaphore>[0]>) => {
    const semaphore = createSemaphore({ capacity: 4, ...options });
    const running = new Map<string, () => void>();
    const run = (owner: string, name: string, weight = 1): Promise<void> =>
      semaphore.run(
        () => {
          const { promise, resolve } = Promise.withResolvers<void>();
          running.set(name, resolve);
          return promise;
        },
        weight,
        owner,
      );
    const end = async (name: string): Promise<void> => {
      running.get(name)?.();
      running.delete(name);
      await turn();
    };
    return { run, end, running: () => [...running.keys()] };
  };

  test('lets an owner that uses all it can leave room for another, which starts at once', async () => {
    const { run, end, running } = open({ share: 4 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void run('a', name);
    await turn();
    expect(running()).toEqual(['a1', 'a2']);
    void run('b', 'b1');
    await turn();
    expect(running()).toEqual(['a1', 'a2', 'b1']);
    await end('a1');
    expect(running()).toEqual(['a2', 'b1', 'a3']);
  });

  test('holds no more than its share, however much is free', async () => {
    const { run, running } = open({ capacity: 10, share: 2 });
    for (const name of ['a1', 'a2', 'a3']) void run('a', name);
    await turn();
    expect(running()).toEqual(['a1', 'a2']);
  });

  test('counts weight, and work heavier than a share runs while its owner has nothing else', async () => {
    const { run, end, running } = open({ share: 2 });
    void run('a', 'a1', 3);
    void run('a', 'a2', 1);
    await turn();
    expect(running()).toEqual(['a1']);
    await end('a1');
    expect(running()).toEqual(['a2']);
  });

  test('charges waiting beyond the limit to the owner that has most waiting', async () => {
    const { run, end, running } = open({ capacity: 1, waitingMax: 3, busy: () => new Error('busy') });
    void run('a', 'a1');
    const many = Promise.allSettled(['a2', 'a3', 'a4', 'a5'].map((name) => run('a', name)));
    const other = run('b', 'b1');
    for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name);
    await other;
    expect((await many).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
    expect(running()).toEqual([]);
  });

  test('keeps no room for work that was refused or gave up', async () => {
    const { run, end, running } = open({ capacity: 1, waitingMax: 1, timeout: { ms: 5 } });
    void run('a', 'a1');
    const late = run('a', 'a2');
    const refused = run('a', 'a3');
    await expect(refused).rejects.toThrow('too many callers wait');
    await expect(late).rejects.toThrow('no answer within 5 ms');
    await end('a1');
    const next = run('a', 'a4');
    await end('a4');
    await next;
    expect(running()).toEqual([]);
  });
});
