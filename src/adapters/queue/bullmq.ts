import {
  type NewJob,
  type Queue,
  type QueueCounts,
  type QueueName,
  type Queues,
  QueueUnavailable,
} from '../../domain/ports/queue.ts';
import type { BulkJob, BullmqEngine, BullmqSettings, Producer } from './bullmq-engine.ts';
import { answerWithin, createBullmqWorker, createFaultLog } from './bullmq-worker.ts';

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
    counts: producer.counts,
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

/** A caller may wait this long for an engine that does not answer; shorter refuses while PostgreSQL is only busy. */
const ANSWER_MS = 5_000;

/** Jobs in one statement or script. More hold the engine longer for everybody else; fewer cost round trips. */
const BULK_JOBS = 500;

/** On PostgreSQL a bulk insert makes two temporary tables and costs as much as this many single ones. */
const SINGLE_JOBS_MAX = 4;

/** The adding half of a queue. Opened when first used, and again after an opening that failed. */
export const createBullmqProducer = <Job>(
  engine: BullmqEngine,
  name: QueueName,
  { system, logger }: BullmqSettings,
) => {
  const logFault = createFaultLog(system, logger, name);
  let opening: Promise<Producer> | undefined;
  let closed = false;
  const underWay = new Set<Promise<unknown>>();

  /** While it closes, connections that end are no fault. */
  const sayFault = (fault: unknown): void => {
    if (!closed) logFault(fault);
  };

  const opened = async (): Promise<Producer> => {
    if (closed) throw new QueueUnavailable(`queue ${name} is closed`);
    opening ??= engine.openProducer(name, sayFault);
    try {
      return await opening;
    } catch (fault) {
      opening = undefined;
      throw fault;
    }
  };

  const asked = async <T>(ask: (producer: Producer) => Promise<T>): Promise<T> => {
    try {
      return await ask(await opened());
    } catch (fault) {
      if (!(await engine.mend(fault))) throw fault;
      return await ask(await opened());
    }
  };

  const answered = async <T>(what: string, ask: (producer: Producer) => Promise<T>): Promise<T> => {
    const call = asked(ask);
    underWay.add(call);
    try {
      return await answerWithin(system, ANSWER_MS, `${what} ${name}`, () => call);
    } finally {
      underWay.delete(call);
    }
  };

  const bulkJob = ({ data, delayMs = 0 }: NewJob<Job>): BulkJob => ({
    name,
    data,
    // BullMQ ignores a job whose id is still known: an id of its own each time, or a re-creation could be lost.
    opts: { jobId: system.uuid(), delay: delayMs, attempts: 1, removeOnComplete: true, removeOnFail: true },
  });

  const addSome = async (producer: Producer, jobs: readonly BulkJob[]): Promise<void> => {
    if (jobs.length > SINGLE_JOBS_MAX) {
      await producer.addBulk([...jobs]);
      return;
    }
    for (const { data, opts } of jobs) await producer.add(name, data, opts);
  };

  const counts = async (): Promise<QueueCounts> => {
    const found = await answered('counting jobs of', (producer) => producer.getJobCounts('waiting', 'active'));
    return { waiting: found.waiting ?? 0, active: found.active ?? 0 };
  };

  return {
    add: async (jobs: readonly NewJob<Job>[]): Promise<void> => {
      for (let start = 0; start < jobs.length; start += BULK_JOBS) {
        const some = jobs.slice(start, start + BULK_JOBS).map(bulkJob);
        await answered('adding jobs to', (producer) => addSome(producer, some));
      }
    },
    counts,
    depth: async (): Promise<number> => {
      const { waiting, active } = await counts();
      return waiting + active;
    },
    close: async (): Promise<void> => {
      closed = true;
      const producer = await opening?.catch(() => undefined);
      const closeProducer = async (): Promise<void> => {
        // A connection that is closed under a call leaves the call without an answer.
        await Promise.allSettled(underWay);
        await producer?.close();
      };
      // An engine that is away must not keep the process from ending; its connections end with it.
      await answerWithin(system, ANSWER_MS, 'closing', closeProducer).catch(() => undefined);
    },
  };
};
