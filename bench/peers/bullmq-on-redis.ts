import { Queue, Worker } from 'bullmq';
import type { Closers } from '../../src/composition/lifecycle.ts';

export interface PlainQueue {
  /** Adds jobs and waits until all are done. */
  addAndWork(jobs: number): Promise<void>;
}

const CONCURRENCY = 64;
/** Concurrent callers that each add one job at a time, like a service without batches. */
const ADDERS = 32;

/** BullMQ as documented, on a Redis with an append-only file and one job per message. */
export const openBullmqOnRedis = async (closers: Closers, redisUrl: string): Promise<PlainQueue> => {
  const connection = { url: redisUrl, maxRetriesPerRequest: null };
  const options = { removeOnComplete: true, removeOnFail: true };
  const queue = new Queue('plain', { connection, defaultJobOptions: options });
  closers.add('plain queue', () => queue.close());
  let worked = 0;
  let onWorked = (): void => undefined;
  const worker = new Worker(
    'plain',
    async () => {
      worked += 1;
      onWorked();
    },
    { connection, concurrency: CONCURRENCY },
  );
  closers.add('plain worker', () => worker.close());
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  return {
    addAndWork: async (jobs) => {
      worked = 0;
      const done = new Promise<void>((resolve) => {
        onWorked = () => {
          if (worked === jobs) resolve();
        };
      });
      let added = 0;
      const add = async (): Promise<void> => {
        while (added < jobs) {
          added += 1;
          await queue.add('deliver', { messageId: `msg_${added}` });
        }
      };
      await Promise.all([...Array.from({ length: ADDERS }, add), done]);
    },
  };
};
