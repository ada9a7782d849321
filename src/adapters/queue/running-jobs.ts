import type { JobHandler, Queue, QueueName, Queues } from '../../domain/ports/queue.ts';
import type { System } from '../../lib/async/async.ts';

/**
 * SIGTERM leaves 10 s in all. Shorter cuts off deliveries and sends them again later; longer leaves no time for the
 * rest.
 */
export const CLOSE_LIMIT_MS = 8_000;

/** How one run of a job ended. A job `given-back` is work for another worker, any other is done with. */
type Ending = { readonly kind: 'done' | 'given-back' } | { readonly kind: 'failed'; readonly error: unknown };

/** The jobs that a worker is running. */
interface RunningJobs {
  run<Job>(handler: JobHandler<Job>, data: Job): Promise<Ending>;
  count(): number;
  /** Tells every handler to end, waits for them up to `limitMs`, then gives back the remaining jobs. */
  windDown(limitMs: number): Promise<void>;
}

interface RunningJob {
  readonly abort: AbortController;
  readonly giveBack: (ending: Ending) => void;
}

const attempt = async <Job>(handler: JobHandler<Job>, data: Job, signal: AbortSignal): Promise<Ending> => {
  try {
    await handler(data, signal);
    return { kind: 'done' };
  } catch (error) {
    return signal.aborted ? { kind: 'given-back' } : { kind: 'failed', error };
  }
};

export const createRunningJobs = (system: System): RunningJobs => {
  const jobs = new Set<RunningJob>();
  const emptied = Promise.withResolvers<void>();
  let closing = false;

  const run = async <Job>(handler: JobHandler<Job>, data: Job): Promise<Ending> => {
    if (closing) return { kind: 'given-back' };
    // Each job has its own promise and controller: listeners on shared ones would accumulate for as long as the worker
    // lives.
    const given = Promise.withResolvers<Ending>();
    const job: RunningJob = { abort: new AbortController(), giveBack: given.resolve };
    jobs.add(job);
    try {
      return await Promise.race([attempt(handler, data, job.abort.signal), given.promise]);
    } finally {
      jobs.delete(job);
      if (closing && jobs.size === 0) emptied.resolve();
    }
  };

  const windDown = async (limitMs: number): Promise<void> => {
    closing = true;
    if (jobs.size === 0) return;
    for (const { abort } of jobs) abort.abort();
    const timer = new AbortController();
    await Promise.race([emptied.promise, system.sleep(limitMs, timer.signal)]);
    timer.abort();
    for (const { giveBack } of jobs) giveBack({ kind: 'given-back' });
  };

  return { run, count: () => jobs.size, windDown };
};

/** Opens queues and closes them together. @param closeEngine called after the last of them has closed. */
export const queuesOf = (
  openQueue: <Job>(name: QueueName) => Queue<Job>,
  closeEngine: () => void = () => undefined,
): Queues => {
  const opened: Pick<Queue<never>, 'close'>[] = [];
  return {
    open: <Job>(name: QueueName) => {
      const queue = openQueue<Job>(name);
      opened.push(queue);
      return queue;
    },
    close: async () => {
      await Promise.all(opened.map((queue) => queue.close()));
      closeEngine();
    },
  };
};
