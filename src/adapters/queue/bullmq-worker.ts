import { type Job as BullJob, WaitingError, Worker } from 'bullmq';
import { type JobHandler, type QueueName, QueueUnavailable } from '../../domain/ports/queue.ts';
import { type Logger, type System, withTimeout } from '../../lib/async/async.ts';
import { redisOptions } from '../redis.ts';
import { createRunningJobs } from './running-jobs.ts';

/** Keys are `outbox:<queue>:…`, since the server may be shared. */
export const PREFIX = 'outbox';

export interface BullmqOptions {
  readonly system: System;
  readonly logger: Logger;
  /** How long `close` waits for running jobs. */
  readonly closeLimitMs?: number;
  /** A job goes to another worker if its own has been silent for this long. */
  readonly lockMs?: number;
}

export interface BullmqSettings extends Required<BullmqOptions> {
  readonly url: string;
}

/**
 * Shorter: a worker that freezes for a moment (garbage collection, a busy machine) has its jobs run twice. Longer: the
 * jobs of a dead worker wait longer; they come back within about twice this time.
 */
export const LOCK_MS = 10_000;

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
const cutOff = (worker: Worker): void => {
  const { lockManager } = worker as unknown as { readonly lockManager?: { close(): Promise<void> } };
  void lockManager?.close();
  void worker.disconnect().catch(() => undefined);
};

/** The working half of a queue. It keeps running whatever happens to the engine, until it is closed. */
export const createBullmqWorker = <Job>(work: Work<Job>, settings: BullmqSettings) => {
  const { url, system, logger, closeLimitMs, lockMs } = settings;
  const logFault = createFaultLog(system, logger, work.name);
  const running = createRunningJobs(system);
  const closing = new AbortController();
  /** Nothing more needs to be sent to Redis: from then on, nothing waits for a server that is down. */
  const gone = new AbortController();
  let worker: Worker | undefined;

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

  /** BullMQ asks again at once after most errors, thousands of times a second. Every request for work goes through here. */
  const slowDownOnFault = (backend: ReturnType<Worker['getBackend']>): void => {
    const moveToActive = backend.moveToActive.bind(backend);
    backend.moveToActive = async (...call) => {
      try {
        return await moveToActive(...call);
      } catch (fault) {
        await system.sleep(FAULT_PAUSE_MS, closing.signal).catch(() => undefined);
        throw fault;
      }
    };
  };

  const open = (): Worker => {
    const opened = new Worker(work.name, process, {
      prefix: PREFIX,
      autorun: false,
      concurrency: work.concurrency,
      lockDuration: lockMs,
      stalledInterval: lockMs / 2,
      maxStalledCount: STALLED_MAX,
      runRetryDelay: FAULT_PAUSE_MS,
      // No request waits for a worker, so its commands may outlive any outage.
      connection: {
        ...redisOptions,
        url,
        maxRetriesPerRequest: null,
        retryStrategy: (tries) => (gone.signal.aborted ? null : redisOptions.retryStrategy(tries)),
      },
    });
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
        await worker.waitUntilReady();
        return closing.signal.aborted ? undefined : await worker.run();
      } catch (fault) {
        sayFault(fault);
        await worker.disconnect().catch(() => undefined);
        await system.sleep(FAULT_PAUSE_MS, closing.signal).catch(() => undefined);
      }
    }
  };

  void start();

  return {
    close: async (): Promise<void> => {
      closing.abort();
      const stopped = worker?.close();
      await running.windDown(closeLimitMs);
      gone.abort();
      await answerWithin(system, CLOSING_MS, `closing ${work.name}`, async () => stopped).catch((fault) => {
        logFault(fault);
        if (worker !== undefined) cutOff(worker);
      });
    },
  };
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
const createFaultLog = (system: System, logger: Logger, queue: string): ((fault: unknown) => void) => {
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
