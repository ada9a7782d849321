import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { QueueUnavailable } from '../../../src/domain/ports/queue.ts';
import { openerOf, type QueueEngine } from './engine.ts';
import { until, untilHandled } from './recorder.ts';

/** The contract of every queue adapter. */
export const describeQueue = (engineName: string, startEngine: () => Promise<QueueEngine>): void => {
  describe(`a queue on ${engineName}`, () => {
    const { open } = openerOf(startEngine);

    test('passes every job of every batch to the handler, and keeps none', async () => {
      const queue = await open<{ n: number }>();
      const handled: number[] = [];
      queue.work(async ({ n }) => void handled.push(n), { concurrency: 8 });
      const numbers = Array.from({ length: 1_203 }, (_, n) => n);
      await queue.add([]);
      await queue.add(numbers.slice(0, 1_200).map((n) => ({ data: { n } })));
      await queue.add(numbers.slice(1_200).map((n) => ({ data: { n } })));
      await until(() => handled.length >= numbers.length);
      expect(handled.toSorted((a, b) => a - b)).toEqual(numbers);
      await until(async () => (await queue.depth()) === 0);
    });

    test('returns data as JSON represents it', async () => {
      const queue = await open<unknown>();
      const handled: unknown[] = [];
      queue.work(async (data) => void handled.push(data), { concurrency: 1 });
      const data = { text: 'ünïcode 🐘 "quoted"\n', list: [1, null, true], nested: { empty: {} } };
      await queue.add([{ data }]);
      await untilHandled(handled, [data]);
    });

    test('processes jobs that were added before there was a worker, in order', async () => {
      const queue = await open<number[]>();
      await queue.add([1, 2, 3, 4, 5, 6].map((n) => ({ data: [n] })));
      const handled: number[] = [];
      queue.work(async ([n]) => void handled.push(n as number), { concurrency: 1 });
      await until(() => handled.length === 6);
      expect(handled).toEqual([1, 2, 3, 4, 5, 6]);
    });

    test('runs a job twice when the same data is added twice, even while the first one waits', async () => {
      const queue = await open<string[]>();
      await queue.add([{ data: ['same'] }]);
      await queue.add([{ data: ['same'] }]);
      const handled: string[] = [];
      queue.work(async ([text]) => void handled.push(text as string), { concurrency: 1 });
      await until(() => handled.length === 2);
    });

    test('starts a job that is added to an idle queue within moments', async () => {
      const queue = await open<string[]>();
      const handled: string[] = [];
      queue.work(async ([text]) => void handled.push(text as string), { concurrency: 2 });
      await queue.add([{ data: ['first'] }]);
      await untilHandled(handled, ['first']);
      await sleep(200);
      const added = performance.now();
      await queue.add([{ data: ['second'] }]);
      await untilHandled(handled, ['second']);
      expect(performance.now() - added).toBeLessThan(500);
    });

    test('runs jobs up to its concurrency, and no more', async () => {
      const queue = await open<number[]>();
      let running = 0;
      let most = 0;
      let ended = 0;
      queue.work(
        async () => {
          running += 1;
          most = Math.max(most, running);
          await sleep(30);
          running -= 1;
          ended += 1;
        },
        { concurrency: 3 },
      );
      await queue.add(Array.from({ length: 24 }, (_, n) => ({ data: [n] })));
      await until(() => ended === 24);
      expect(most).toBe(3);
    });

    test('counts waiting and running jobs', async () => {
      const queue = await open<number[]>();
      const release = Promise.withResolvers<void>();
      await queue.add([1, 2, 3].map((n) => ({ data: [n] })));
      expect(await queue.depth()).toBe(3);
      let running = 0;
      queue.work(
        async () => {
          running += 1;
          await release.promise;
        },
        { concurrency: 2 },
      );
      await until(() => running === 2);
      expect(await queue.depth()).toBe(3);
      expect(await queue.counts()).toEqual({ waiting: 1, active: 2 });
      release.resolve();
      await until(async () => (await queue.depth()) === 0);
    });

    test('removes a job whose handler fails, and continues with the next', async () => {
      const queue = await open<number[]>();
      const handled: number[] = [];
      queue.work(
        async ([n]) => {
          handled.push(n as number);
          if (n === 2) throw new Error('this job cannot be done');
        },
        { concurrency: 1 },
      );
      await queue.add([1, 2, 3].map((n) => ({ data: [n] })));
      await untilHandled(handled, [1, 2, 3]);
      await until(async () => (await queue.depth()) === 0);
      await queue.add([{ data: [4] }]);
      await untilHandled(handled, [4]);
      expect(handled).toEqual([1, 2, 3, 4]);
    });

    test('waits for the running handler when it closes', async () => {
      const queue = await open<string[]>();
      let state = 'waiting';
      queue.work(
        async () => {
          state = 'running';
          await sleep(400);
          state = 'ended';
        },
        { concurrency: 1 },
      );
      await queue.add([{ data: ['slow'] }]);
      await until(() => state === 'running');
      await queue.close();
      expect(state).toBe('ended');
    });

    test('refuses jobs after it is closed', async () => {
      const queue = await open<string[]>();
      await queue.close();
      await queue.close();
      await expect(queue.add([{ data: ['late'] }])).rejects.toThrow(QueueUnavailable);
    });
  });
};
