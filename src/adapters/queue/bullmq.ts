import type { Job as BullJob } from 'bullmq';
import type { Logger } from '../../domain/ports/logger.ts';
import type { Queue, QueueName, Queues } from '../../domain/ports/queue.ts';
import type { System } from '../../domain/ports/system.ts';
import { createBullmqProducer, type Producer } from './bullmq-producer.ts';
import { type BullWorker, createBullmqWorker, type WorkerOptions } from './bullmq-worker.ts';

export interface BullmqOptions {
  readonly system: System;
  readonly logger: Logger;
  /** How long `close` waits for the jobs in hand. */
  readonly closeLimitMs?: number;
  /** A job whose worker has not been heard of for this long goes to another. */
  readonly lockMs?: number;
}

export type BullmqSettings = Required<BullmqOptions>;

/** What differs between PostgreSQL and Redis. */
export interface BullmqEngine {
  /** Resolves when the engine has answered; a producer that never got ready is not used again. */
  openProducer(name: QueueName, onFault: (fault: unknown) => void): Promise<Producer>;
  /** `gone` aborts when nothing is left to be said to the engine: from then on nobody waits for one that is away. */
  openWorker(
    name: QueueName,
    process: (job: BullJob, token?: string) => Promise<void>,
    options: WorkerOptions,
    gone: AbortSignal,
  ): BullWorker;
  /** Puts right what can be put right (a schema that was dropped); whether it did. */
  mend(fault: unknown): Promise<boolean>;
  close(): Promise<void>;
}

/** SIGTERM leaves 10 s in all. Shorter cuts deliveries off and sends them again later; longer leaves nothing for the rest. */
const CLOSE_LIMIT_MS = 8_000;

/**
 * Shorter: a worker that freezes for a moment (collection, a busy machine) has its jobs run twice. Longer: the jobs of
 * a worker that died wait longer; they come back within about twice this time.
 */
const LOCK_MS = 10_000;

export const settingsOf = (options: BullmqOptions): BullmqSettings => ({
  closeLimitMs: CLOSE_LIMIT_MS,
  lockMs: LOCK_MS,
  ...options,
});

const openQueue = <Job>(engine: BullmqEngine, name: QueueName, settings: BullmqSettings): Queue<Job> => {
  const producer = createBullmqProducer<Job>(engine, name, settings);
  let worker: { close(): Promise<void> } | undefined;
  let closed: Promise<void> | undefined;

  const close = async (): Promise<void> => {
    await worker?.close();
    await producer.close();
  };

  return {
    add: producer.add,
    depth: producer.depth,
    work: (handler, { concurrency }) => {
      if (worker !== undefined) throw new Error(`queue ${name} has its worker already`);
      worker = createBullmqWorker(engine, { name, handler, concurrency }, settings);
    },
    close: () => {
      closed ??= close();
      return closed;
    },
  };
};

/** Queues on BullMQ, on either of its engines. */
export const createBullmqQueues = (engine: BullmqEngine, settings: BullmqSettings): Queues => {
  const opened: { close(): Promise<void> }[] = [];
  return {
    open: <Job>(name: QueueName) => {
      const queue = openQueue<Job>(engine, name, settings);
      opened.push(queue);
      return queue;
    },
    close: async () => {
      await Promise.all(opened.map((queue) => queue.close()));
      await engine.close();
    },
  };
};
