import { createRunningJobs } from '../../../src/adapters/queue/bullmq-worker.ts';
import {
  type JobHandler,
  type NewJob,
  type Queue,
  type QueueName,
  type Queues,
  QueueUnavailable,
} from '../../../src/domain/ports/queue.ts';
import type { Logger, System } from '../../../src/lib/async/async.ts';

/** The jobs of one queue, in their stored text, and the consumers to wake for them. */
interface Line {
  /** First in, first out: a set keeps the order and removes the first item without moving the rest. */
  readonly waiting: Set<{ readonly text: string }>;
  readonly wakes: Set<() => void>;
  running: number;
}

/** State shared by several `Queues` of one process, as they would share a server. */
export type InMemoryJobs = Map<QueueName, Line>;

interface Options {
  readonly system: System;
  readonly logger: Logger;
  readonly jobs?: InMemoryJobs;
  readonly closeLimitMs?: number;
}

/** Same value as in `bullmq.ts`. */
const CLOSE_LIMIT_MS = 8_000;

const lineOf = (jobs: InMemoryJobs, name: QueueName): Line => {
  const line = jobs.get(name) ?? { waiting: new Set(), wakes: new Set(), running: 0 };
  jobs.set(name, line);
  return line;
};

const put = (line: Line, job: { readonly text: string }): void => {
  line.waiting.add(job);
  for (const wake of line.wakes) wake();
};

/** Jobs live as long as the process, delayed jobs only as long as the queue that added them. */
const openQueue = <Job>(line: Line, name: QueueName, options: Required<Options>): Queue<Job> => {
  const { system, logger, closeLimitMs } = options;
  const closing = new AbortController();
  const running = createRunningJobs(system);
  let worker: { readonly handler: JobHandler<Job>; readonly concurrency: number } | undefined;

  const end = async (job: { readonly text: string }, handler: JobHandler<Job>): Promise<void> => {
    const ending = await running.run(handler, JSON.parse(job.text) as Job);
    line.running -= 1;
    if (ending.kind === 'given-back') put(line, job);
    if (ending.kind === 'failed') logger.error({ queue: name, err: ending.error }, 'removed a failed job');
    pump();
  };

  const pump = (): void => {
    if (worker === undefined) return;
    for (const job of line.waiting) {
      if (closing.signal.aborted || running.count() >= worker.concurrency) return;
      line.waiting.delete(job);
      line.running += 1;
      void end(job, worker.handler);
    }
  };

  const addLater = async (job: { readonly text: string }, delayMs: number): Promise<void> => {
    try {
      await system.sleep(delayMs, closing.signal);
    } catch {
      return;
    }
    put(line, job);
  };

  return {
    add: async (jobs: readonly NewJob<Job>[]) => {
      if (closing.signal.aborted) throw new QueueUnavailable(`queue ${name} is closed`);
      for (const { data, delayMs = 0 } of jobs) {
        const job = { text: JSON.stringify(data) };
        if (delayMs > 0) void addLater(job, delayMs);
        else put(line, job);
      }
    },
    depth: async () => line.waiting.size + line.running,
    counts: async () => ({ waiting: line.waiting.size, active: line.running }),
    work: (handler, { concurrency }) => {
      worker = { handler, concurrency };
      line.wakes.add(pump);
      pump();
    },
    close: async () => {
      closing.abort();
      line.wakes.delete(pump);
      await running.windDown(closeLimitMs);
    },
  };
};

export const createInMemoryQueues = (given: Options): Queues => {
  const options = { closeLimitMs: CLOSE_LIMIT_MS, jobs: new Map(), ...given };
  const opened: { close(): Promise<void> }[] = [];
  return {
    open: <Job>(name: QueueName) => {
      const queue = openQueue<Job>(lineOf(options.jobs, name), name, options);
      opened.push(queue);
      return queue;
    },
    close: async () => {
      await Promise.all(opened.map((queue) => queue.close()));
    },
  };
};
