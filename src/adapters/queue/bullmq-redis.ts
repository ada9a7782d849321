import { Queue, Worker } from 'bullmq';
import type { Queues } from '../../domain/ports/queue.ts';
import { connectRedis, logOutages, redisOptions } from '../redis.ts';
import { createBullmqQueues } from './bullmq.ts';
import { answerWithin, type BullmqEngine, type BullmqOptions, settingsOf } from './bullmq-worker.ts';

/** Keys are `outbox:<queue>:…`, since the server may be shared. */
const PREFIX = 'outbox';

/** See `bullmq-postgres.ts`: these have no readers. */
const EVENTS_KEPT = 100;

/** A command that takes longer has failed. Shorter rejects jobs while Redis forks to save. */
const COMMAND_MS = 4_000;

/** Redis must be available at the start: a wrong address should be reported, not waited for. */
const FIRST_ANSWER_MS = 5_000;

/**
 * Queues on Redis (at least 6.2, `maxmemory-policy noeviction`, append-only file).
 * @throws {QueueUnavailable} if that address does not answer.
 */
export const createRedisQueues = async (url: string, options: BullmqOptions): Promise<Queues> => {
  const settings = settingsOf(options);
  const { system, logger } = settings;
  const producers = connectRedis(url, COMMAND_MS);
  logOutages(producers, logger, 'queue');

  const answer = async (): Promise<void> => {
    if (producers.status !== 'ready') await new Promise((ready) => producers.once('ready', ready));
    await producers.ping();
  };

  const engine: BullmqEngine = {
    openProducer: async (name) => {
      const queue = new Queue<unknown>(name, {
        connection: producers,
        prefix: PREFIX,
        streams: { events: { maxLen: EVENTS_KEPT } },
      });
      queue.on('error', () => undefined); // reported by `logOutages`, and to the caller of `add`
      await queue.waitUntilReady();
      return queue;
    },
    openWorker: (name, process, workerOptions, gone) =>
      new Worker(name, process, {
        ...workerOptions,
        prefix: PREFIX,
        // No request waits for a worker, so its commands may outlive any outage.
        connection: {
          ...redisOptions,
          url,
          maxRetriesPerRequest: null,
          retryStrategy: (tries) => (gone.aborted ? null : redisOptions.retryStrategy(tries)),
        },
      }),
    mend: async () => false,
    close: async () => {
      producers.disconnect();
    },
  };

  try {
    await answerWithin(system, FIRST_ANSWER_MS, `Redis at ${new URL(url).host}`, answer);
  } catch (fault) {
    producers.disconnect();
    throw fault;
  }
  return createBullmqQueues(engine, settings);
};
