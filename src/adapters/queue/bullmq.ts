import {
  type NewJob,
  type Queue,
  type QueueCounts,
  type QueueName,
  type Queues,
  QueueUnavailable,
} from '../../domain/ports/queue.ts';
import {
  answerWithin,
  type BulkJob,
  type BullmqEngine,
  type BullmqSettings,
  createBullmqWorker,
  createFaultLog,
  type Producer,
} from './bullmq-worker.ts';

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

/** Maximum wait of a caller for an engine that does not answer. Shorter fails while PostgreSQL is only busy. */
const ANSWER_MS = 5_000;

/** Jobs in one statement or script. More block the engine longer for all other calls; fewer cost round trips. */
const BULK_JOBS = 500;

/** On PostgreSQL a bulk insert creates two temporary tables and costs as much as this many single ones. */
const SINGLE_JOBS_MAX = 4;

/** The adding half of a queue. It is opened on first use, and again after a failed attempt. */
const createBullmqProducer = <Job>(engine: BullmqEngine, name: QueueName, { system, logger }: BullmqSettings) => {
  const logFault = createFaultLog(system, logger, name);
  let opening: Promise<Producer> | undefined;
  let closed = false;
  const underWay = new Set<Promise<unknown>>();

  /** Connections that end during closing are not faults. */
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
    // BullMQ ignores a job whose id is still known. Each job gets a fresh id, or adding it again could be lost.
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
        // If a connection is closed during a call, the call never gets an answer.
        await Promise.allSettled(underWay);
        await producer?.close();
      };
      // An engine that is down must not prevent the process from ending, which closes its connections.
      await answerWithin(system, ANSWER_MS, 'closing', closeProducer).catch(() => undefined);
    },
  };
};
