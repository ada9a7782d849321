import { Queue as BullQueue, type JobsOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import {
  type NewJob,
  type Queue,
  type QueueCounts,
  type QueueName,
  type Queues,
  QueueUnavailable,
} from '../../domain/ports/queue.ts';
import { connectRedis, logOutages } from '../redis.ts';
import {
  answerWithin,
  type BullmqOptions,
  type BullmqSettings,
  createBullmqWorker,
  LOCK_MS,
  PREFIX,
} from './bullmq-worker.ts';
import { CLOSE_LIMIT_MS, queuesOf } from './running-jobs.ts';

/** A command that takes longer has failed. Shorter rejects jobs while Redis forks to save. */
const COMMAND_MS = 4_000;

/** Redis must be available at the start: a wrong address should be reported, not waited for. */
const FIRST_ANSWER_MS = 5_000;

/** Maximum wait of a caller for a server that does not answer. */
const ANSWER_MS = 5_000;

/** Jobs in one script. More block Redis longer for all other calls; fewer cost round trips. */
const BULK_JOBS = 500;

/**
 * BullMQ records every step of every job for watchers that we do not have, and deletes events beyond this number. 0
 * would mean never.
 */
const EVENTS_KEPT = 100;

/** The adding half of a queue. It is opened on first use, and again after a failed attempt. */
const createProducer = <Job>(connection: Redis, name: QueueName, system: BullmqSettings['system']) => {
  let opening: Promise<BullQueue> | undefined;
  let closed = false;
  const underWay = new Set<Promise<unknown>>();

  const open = async (): Promise<BullQueue> => {
    const queue = new BullQueue(name, { connection, prefix: PREFIX, streams: { events: { maxLen: EVENTS_KEPT } } });
    queue.on('error', () => undefined); // reported by `logOutages`, and to the caller of `add`
    await queue.waitUntilReady();
    return queue;
  };

  const opened = async (): Promise<BullQueue> => {
    if (closed) throw new QueueUnavailable(`queue ${name} is closed`);
    opening ??= open();
    try {
      return await opening;
    } catch (fault) {
      opening = undefined;
      throw fault;
    }
  };

  const answered = async <T>(what: string, ask: (queue: BullQueue) => Promise<T>): Promise<T> => {
    const call = opened().then(ask);
    underWay.add(call);
    try {
      return await answerWithin(system, ANSWER_MS, `${what} ${name}`, () => call);
    } finally {
      underWay.delete(call);
    }
  };

  // BullMQ ignores a job whose id is still known. Each job gets a fresh id, or adding it again could be lost.
  const optionsOf = (): JobsOptions => ({
    jobId: system.uuid(),
    attempts: 1,
    removeOnComplete: true,
    removeOnFail: true,
  });

  const counts = async (): Promise<QueueCounts> => {
    const found = await answered('counting jobs of', (queue) => queue.getJobCounts('waiting', 'active'));
    return { waiting: found.waiting ?? 0, active: found.active ?? 0 };
  };

  return {
    add: async (jobs: readonly NewJob<Job>[]): Promise<void> => {
      for (let start = 0; start < jobs.length; start += BULK_JOBS) {
        const some = jobs.slice(start, start + BULK_JOBS).map(({ data }) => ({ name, data, opts: optionsOf() }));
        await answered('adding jobs to', (queue) => queue.addBulk(some));
      }
    },
    counts,
    depth: async (): Promise<number> => {
      const { waiting, active } = await counts();
      return waiting + active;
    },
    close: async (): Promise<void> => {
      closed = true;
      const queue = await opening?.catch(() => undefined);
      const closeQueue = async (): Promise<void> => {
        // If a connection is closed during a call, the call never gets an answer.
        await Promise.allSettled(underWay);
        await queue?.close();
      };
      // A server that is down must not prevent the process from ending, which closes its connections.
      await answerWithin(system, ANSWER_MS, 'closing', closeQueue).catch(() => undefined);
    },
  };
};

const openQueue = <Job>(connection: Redis, name: QueueName, settings: BullmqSettings): Queue<Job> => {
  const { add, depth, counts, close } = createProducer<Job>(connection, name, settings.system);
  let worker: { close(): Promise<void> } | undefined;
  let closed: Promise<void> | undefined;

  const closeAll = async (): Promise<void> => {
    await worker?.close();
    await close();
  };

  return {
    add,
    depth,
    counts,
    work: (handler, { concurrency }) => {
      if (worker !== undefined) throw new Error(`queue ${name} has its worker already`);
      worker = createBullmqWorker({ name, handler, concurrency }, settings);
    },
    close: () => {
      closed ??= closeAll();
      return closed;
    },
  };
};

/**
 * Queues that distribute jobs among the workers of all processes, on BullMQ and Redis (at least 6.2, `maxmemory-policy
 * noeviction`, append-only file).
 * @throws {QueueUnavailable} if that address does not answer.
 */
export const createBullmqQueues = async (url: string, options: BullmqOptions): Promise<Queues> => {
  const settings = { closeLimitMs: CLOSE_LIMIT_MS, lockMs: LOCK_MS, ...options, url };
  const { system, logger } = settings;
  const connection = connectRedis(url, COMMAND_MS);
  logOutages(connection, logger, 'queue');

  const answer = async (): Promise<void> => {
    if (connection.status !== 'ready') await new Promise((ready) => connection.once('ready', ready));
    await connection.ping();
  };
  try {
    await answerWithin(system, FIRST_ANSWER_MS, `Redis at ${new URL(url).host}`, answer);
  } catch (fault) {
    connection.disconnect();
    throw fault;
  }

  return queuesOf(
    (name) => openQueue(connection, name, settings),
    () => connection.disconnect(),
  );
};
