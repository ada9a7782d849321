import {
  type JobHandler,
  type Queue,
  type QueueName,
  type Queues,
  QueueUnavailable,
} from '../../domain/ports/queue.ts';
import type { Logger, System } from '../../lib/async/async.ts';
import { CLOSE_LIMIT_MS, createRunningJobs, queuesOf } from './running-jobs.ts';

interface InProcessOptions {
  readonly system: System;
  readonly logger: Logger;
  /** How long `close` waits for running jobs. */
  readonly closeLimitMs?: number;
}

interface Worker<Job> {
  readonly handler: JobHandler<Job>;
  readonly concurrency: number;
}

const openQueue = <Job>(name: QueueName, options: Required<InProcessOptions>): Queue<Job> => {
  const { system, logger, closeLimitMs } = options;
  /** First in, first out: a set removes its first item without moving the rest. */
  const waiting = new Set<{ readonly data: Job }>();
  const running = createRunningJobs(system);
  let worker: Worker<Job> | undefined;
  let closed: Promise<void> | undefined;

  const run = async (data: Job, { handler }: Worker<Job>): Promise<void> => {
    const ending = await running.run(handler, data);
    if (ending.kind === 'failed') logger.error({ queue: name, err: ending.error }, 'removed a failed job');
    startWaiting();
  };

  const startWaiting = (): void => {
    if (worker === undefined || closed !== undefined) return;
    for (const job of waiting) {
      if (running.count() >= worker.concurrency) return;
      waiting.delete(job);
      void run(job.data, worker);
    }
  };

  return {
    add: async (jobs) => {
      if (closed !== undefined) throw new QueueUnavailable(`queue ${name} is closed`);
      for (const { data } of jobs) waiting.add({ data });
      startWaiting();
    },
    depth: async () => waiting.size + running.count(),
    counts: async () => ({ waiting: waiting.size, active: running.count() }),
    work: (handler, { concurrency }) => {
      if (worker !== undefined) throw new Error(`queue ${name} has its worker already`);
      worker = { handler, concurrency };
      startWaiting();
    },
    close: () => {
      closed ??= running.windDown(closeLimitMs);
      return closed;
    },
  };
};

/** Queues in the memory of this process, which works its own jobs. They end with it, and the sweep finds the work again. */
export const createInProcessQueues = (options: InProcessOptions): Queues => {
  const settings = { closeLimitMs: CLOSE_LIMIT_MS, ...options };
  return queuesOf((name) => openQueue(name, settings));
};
