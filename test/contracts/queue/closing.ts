import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { QueueUnavailable } from '../../../src/domain/ports/queue.ts';
import type { OpenQueue } from './engine.ts';
import { until, untilHandled } from './recorder.ts';

/** The contract for running jobs when a queue closes. */
export const describeClosing = (open: OpenQueue): void => {
  test('waits for the running handler when it closes, and removes its job', async () => {
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
    const other = await open({ again: true });
    expect(await other.depth()).toBe(0);
  });

  test('signals a running handler that it is closing; a job returned by throwing goes to another worker', async () => {
    const queue = await open<string[]>();
    let running = false;
    queue.work(
      async (_, signal) => {
        running = true;
        await sleep(10_000, undefined, { signal });
      },
      { concurrency: 1 },
    );
    await queue.add([{ data: ['handed over'] }]);
    await until(() => running);
    const closing = performance.now();
    await queue.close();
    expect(performance.now() - closing).toBeLessThan(1_500);
    const other = await open<string[]>({ again: true });
    const handled: string[] = [];
    other.work(async ([text]) => void handled.push(text as string), { concurrency: 1 });
    await untilHandled(handled, ['handed over']);
  });

  test('waits no longer than the limit for a handler that does not end, and does not lose its job', async () => {
    const queue = await open<string[]>({ closeLimitMs: 300 });
    let running = false;
    const never = Promise.withResolvers<void>();
    queue.work(
      async () => {
        running = true;
        await never.promise;
      },
      { concurrency: 1 },
    );
    await queue.add([{ data: ['stuck'] }]);
    await until(() => running);
    const closing = performance.now();
    await queue.close();
    expect(performance.now() - closing).toBeLessThan(2_000);
    const other = await open<string[]>({ again: true });
    const handled: string[] = [];
    other.work(async ([text]) => void handled.push(text as string), { concurrency: 1 });
    await untilHandled(handled, ['stuck']);
    never.resolve();
  });

  test('refuses jobs after it is closed', async () => {
    const queue = await open<string[]>();
    await queue.close();
    await queue.close();
    await expect(queue.add([{ data: ['late'] }])).rejects.toThrow(QueueUnavailable);
  });
};
