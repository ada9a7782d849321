import { type Job as BullJob, type JobsOptions, WaitingError } from 'bullmq';
import { type JobHandler, type QueueName, QueueUnavailable } from '../../domain/ports/queue.ts';
import { type Logger, type System, withTimeout } from '../../lib/async/async.ts';

export interface BullmqOptions {
  readonly system: System;
  readonly logger: Logger;
  /** How long `close` waits for running jobs. */
  readonly closeLimitMs?: number;
  /** A job goes to another worker if its own has been silent for this long. */
  readonly lockMs?: number;
}

export type BullmqSettings = Required<BullmqOptions>;

/** Operations that differ between PostgreSQL and Redis. */
export interface BullmqEngine {
  /** Resolves when the engine has answered. A producer that never became ready is not used again. */
  openProducer(name: QueueName, onFault: (fault: unknown) => void): Promise<Producer>;
  /**
   * `gone` aborts when nothing more needs to be sent to the engine. From then on, nothing waits for an engine that is
   * down.
   */
  openWorker(
    name: QueueName,
    process: (job: BullJob, token?: string) => Promise<void>,
    options: WorkerOptions,
    gone: AbortSignal,
  ): BullWorker;
  /** Repairs a fault if possible (a schema that was dropped). @returns true if it was repaired. */
  mend(fault: unknown): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * SIGTERM leaves 10 s in all. Shorter cuts off deliveries and sends them again later; longer leaves no time for the
 * rest.
 */
const CLOSE_LIMIT_MS = 8_000;

/**
 * Shorter: a worker that freezes for a moment (garbage collection, a busy machine) has its jobs run twice. Longer: the
 * jobs of a dead worker wait longer; they come back within about twice this time.
 */
const LOCK_MS = 10_000;

export const settingsOf = (options: BullmqOptions): BullmqSettings => ({
  closeLimitMs: CLOSE_LIMIT_MS,
  lockMs: LOCK_MS,
  ...options,
});

export interface BulkJob {
  readonly name: string;
  readonly data: unknown;
  readonly opts: JobsOptions;
}

/** The used part of BullMQ's `Queue`. */
export interface Producer {
  add(name: string, data: unknown, options: JobsOptions): Promise<unknown>;
  addBulk(jobs: BulkJob[]): Promise<unknown>;
  getJobCounts(...states: ('waiting' | 'active')[]): Promise<{ [state: string]: number }>;
  close(): Promise<void>;
}

/** BullMQ's own options that are the same on every engine. */
interface WorkerOptions {
  readonly autorun: false;
  readonly concurrency: number;
  readonly lockDuration: number;
  readonly stalledInterval: number;
  readonly maxStalledCount: number;
  readonly runRetryDelay: number;
}

/** The used part of BullMQ's `Worker`. */
interface BullWorker {
  on(event: 'error', listener: (fault: Error) => void): unknown;
  on(event: 'stalled', listener: (jobId: string) => void): unknown;
  waitUntilReady(): Promise<void>;
  run(): Promise<void>;
  close(): Promise<void>;
  disconnect(): Promise<void>;
  getBackend(): { moveToActive(token: string, name?: string): Promise<unknown[]> };
}

interface Work<Job> {
  readonly name: QueueName;
  readonly handler: JobHandler<Job>;
  readonly concurrency: number;
}

/**
 * Pause after a fault before requesting work again. Shorter is a busy loop on a broken engine, longer delays the
 * restart.
 */
const FAULT_PAUSE_MS = 1_000;

/** A job that crashes its process is dropped after this many times. The sweeper adds it again later. */
const STALLED_MAX = 3;

/** Time to record the last results once no job is running. After that, connections are cut. */
const CLOSING_MS = 1_500;

/**
 * For a worker whose `close` hangs, as BullMQ's does while reconnecting. Its lock renewal (a protected field) would
 * continue forever and keep the process alive.
 */
const cutOff = (worker: BullWorker): void => {
  const { lockManager } = worker as unknown as { readonly lockManager?: { close(): Promise<void> } };
  void lockManager?.close();
  void worker.disconnect().catch(() => undefined);
};

/** The working half of a queue. It keeps running whatever happens to the engine, until it is closed. */
export const createBullmqWorker = <Job>(engine: BullmqEngine, work: Work<Job>, settings: BullmqSettings) => {
  const { system, logger, closeLimitMs, lockMs } = settings;
  const logFault = createFaultLog(system, logger, work.name);
  const running = createRunningJobs(system);
  const closing = new AbortController();
  const gone = new AbortController();
  let worker: BullWorker | undefined;
  /**
   * Set while connecting. If closed during that time, BullMQ on PostgreSQL opens one more connection afterwards, and
   * never ends it.
   */
  let connecting: Promise<void> | undefined;

  /** Connections that end during closing are not faults. */
  const sayFault = (fault: unknown): void => {
    if (!closing.signal.aborted) logFault(fault);
  };

  const process = async (job: BullJob, token?: string): Promise<void> => {
    const ending = await running.run(work.handler, job.data as Job);
    if (ending.kind === 'failed') {
      logger.error({ queue: work.name, job: job.id, err: ending.error }, 'removed a failed job');
      throw ending.error;
    }
    if (ending.kind === 'given-back') {
      await job.moveToWait(token);
      throw new WaitingError();
    }
  };

  /**
   * BullMQ asks again at once after most errors, thousands of times a second, and never repairs its schema. Every
   * request for work goes through here.
   */
  const slowDownOnFault = (backend: ReturnType<BullWorker['getBackend']>): void => {
    const moveToActive = backend.moveToActive.bind(backend);
    backend.moveToActive = async (token, name) => {
      try {
        return await moveToActive(token, name);
      } catch (fault) {
        await engine.mend(fault).catch(sayFault);
        await system.sleep(FAULT_PAUSE_MS, closing.signal).catch(() => undefined);
        throw fault;
      }
    };
  };

  const open = (): BullWorker => {
    const options: WorkerOptions = {
      autorun: false,
      concurrency: work.concurrency,
      lockDuration: lockMs,
      stalledInterval: lockMs / 2,
      maxStalledCount: STALLED_MAX,
      runRetryDelay: FAULT_PAUSE_MS,
    };
    const opened = engine.openWorker(work.name, process, options, gone.signal);
    opened.on('error', sayFault);
    opened.on('stalled', (job) =>
      logger.warn({ queue: work.name, job }, 'requeued a job whose worker stopped responding'),
    );
    slowDownOnFault(opened.getBackend());
    return opened;
  };

  /** BullMQ remembers a failed first connection forever, so such a worker is discarded. */
  const start = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      worker = open();
      try {
        connecting = worker.waitUntilReady();
        await connecting;
        connecting = undefined;
        return closing.signal.aborted ? undefined : await worker.run();
      } catch (fault) {
        sayFault(fault);
        await engine.mend(fault).catch(sayFault);
        await worker.disconnect().catch(() => undefined);
        await system.sleep(FAULT_PAUSE_MS, closing.signal).catch(() => undefined);
      }
    }
  };

  void start();

  return {
    close: async (): Promise<void> => {
      closing.abort();
      const stopped = connecting === undefined ? worker?.close() : connecting.finally(() => worker?.close());
      await running.windDown(closeLimitMs);
      gone.abort();
      await answerWithin(system, CLOSING_MS, `closing ${work.name}`, async () => stopped).catch((fault) => {
        logFault(fault);
        if (worker !== undefined) cutOff(worker);
      });
    },
  };
};

/** How one run of a job ended. A job `given-back` goes to other workers, any other is removed. */
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

/**
 * Waits up to `ms` for an answer. The later result of the call is ignored.
 * @throws {QueueUnavailable} with the cause, whatever went wrong.
 */
export const answerWithin = async <T>(system: System, ms: number, what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await withTimeout({ system, ms }, work());
  } catch (cause) {
    throw new QueueUnavailable(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
};

/**
 * An unavailable engine fails many times a second, but the log needs only an occasional report. Longer hides a change
 * of cause.
 */
const QUIET_MS = 10_000;

/** Logs an engine's faults: the first at once, then at most one per `QUIET_MS`, with the number of those in between. */
export const createFaultLog = (system: System, logger: Logger, queue: string): ((fault: unknown) => void) => {
  let quietUntil = 0;
  let unlogged = 0;
  return (err) => {
    const now = system.monotonicMs();
    if (now < quietUntil) {
      unlogged += 1;
      return;
    }
    logger.warn({ queue, err, since_last: unlogged }, 'the queue engine reported an error');
    quietUntil = now + QUIET_MS;
    unlogged = 0;
  };
};
