import { expect, test } from 'vitest';
import { type Queue, type Queues, QueueUnavailable } from '../../../src/domain/ports/queue.ts';
import { until, untilHandled } from './recorder.ts';
import { startBusyWorker } from './start-busy-worker.ts';

/** BullMQ queues on a separate server. */
export interface BullmqQueues {
  readonly url: string;
  readonly queues: Queues;
  /** Jobs and events of a queue that are stored on the server. */
  kept(queue: string): Promise<{ readonly jobs: number; readonly events: number }>;
}

export const isFulfilled = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Opens a queue whose worker has already handled the job `before`. */
export const openWorking = async (queues: Queues, name: string, concurrency = 1) => {
  const queue = queues.open<string[]>(name);
  const handled: string[] = [];
  queue.work(async ([text]) => void handled.push(text as string), { concurrency });
  await queue.add([{ data: ['before'] }]);
  await untilHandled(handled, ['before']);
  return { queue, handled };
};

export const expectRefusedSoon = async (queue: Queue<string[]>): Promise<void> => {
  const adding = performance.now();
  await expect(queue.add([{ data: ['refused'] }])).rejects.toThrow(QueueUnavailable);
  expect(performance.now() - adding).toBeLessThan(6_000);
};

/** Promises of BullMQ queues on both servers, in addition to the contract of all queues. */
export const testBullmq = (engine: 'postgres' | 'redis', open: () => Promise<BullmqQueues>): void => {
  test('gives the job of a killed worker to another', async () => {
    const { url, queues } = await open();
    const queue = queues.open<string[]>('killed');
    const busy = await startBusyWorker(engine, url, 'killed');
    await queue.add([{ data: ['survivor'] }]);
    await busy.untilBusy();
    await busy.kill();
    const handled: string[] = [];
    queue.work(async ([text]) => void handled.push(text as string), { concurrency: 1 });
    await untilHandled(handled, ['survivor']);
  });

  test('keeps nothing of finished jobs', async () => {
    const { queues, kept } = await open();
    const queue = queues.open<number[]>('bounded');
    let ended = 0;
    queue.work(
      async () => {
        ended += 1;
        if (ended % 3 === 0) throw new Error('every third fails');
      },
      { concurrency: 8 },
    );
    await queue.add(Array.from({ length: 1_000 }, (_, n) => ({ data: [n] })));
    await until(() => ended === 1_000);
    await until(async () => (await queue.depth()) === 0);
    const { jobs, events } = await kept('bounded');
    expect(jobs).toBe(0);
    expect(events).toBeLessThan(400);
  });
};
