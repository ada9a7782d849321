import { type Job as BullJob, WaitingError } from 'bullmq';
import type { JobHandler, QueueName } from '../../domain/ports/queue.ts';
import type { BullmqEngine, BullmqSettings } from './bullmq.ts';
import { answerWithin } from './deadline.ts';
import { createFaultLog } from './fault-log.ts';
import { createInHand } from './in-hand.ts';

/** BullMQ's own options that are the same on every engine. */
export interface WorkerOptions {
  readonly autorun: false;
  readonly concurrency: number;
  readonly lockDuration: number;
  readonly stalledInterval: number;
  readonly maxStalledCount: number;
  readonly runRetryDelay: number;
}

/** As much of BullMQ's `Worker` as is used. */
export interface BullWorker {
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

/** Pause after a fault before asking for work again. Shorter is a busy loop on a broken engine, longer a late start. */
const FAULT_PAUSE_MS = 1_000;

/** A job that takes its process down is dropped after so many times; the sweeper brings it again, later. */
const STALLED_MAX = 3;

/** What writing down the last endings may take once no job is in hand; then connections are cut. */
const CLOSING_MS = 1_500;

/**
 * For a worker whose `close` hangs, as BullMQ's does where it was reconnecting. Its lock renewal (a protected field)
 * would go on for ever and keep the process alive.
 */
const cutOff = (worker: BullWorker): void => {
  const { lockManager } = worker as unknown as { readonly lockManager?: { close(): Promise<void> } };
  void lockManager?.close();
  void worker.disconnect().catch(() => undefined);
};

/** The working half of a queue; goes on whatever happens to the engine, until it is closed. */
export const createBullmqWorker = <Job>(engine: BullmqEngine, work: Work<Job>, settings: BullmqSettings) => {
  const { system, logger, closeLimitMs, lockMs } = settings;
  const logFault = createFaultLog(system, logger, work.name);
  const inHand = createInHand(system);
  const closing = new AbortController();
  const gone = new AbortController();
  let worker: BullWorker | undefined;
  /** While it connects. Closed meanwhile, BullMQ on PostgreSQL opens one more connection afterwards, and never ends it. */
  let connecting: Promise<void> | undefined;

  /** While it closes, connections that end are no fault. */
  const sayFault = (fault: unknown): void => {
    if (!closing.signal.aborted) logFault(fault);
  };

  const process = async (job: BullJob, token?: string): Promise<void> => {
    const ending = await inHand.run(work.handler, job.data as Job);
    if (ending.kind === 'failed') {
      logger.error({ queue: work.name, job: job.id, err: ending.error }, 'a job failed and is removed');
      throw ending.error;
    }
    if (ending.kind === 'given-back') {
      await job.moveToWait(token);
      throw new WaitingError();
    }
  };

  /**
   * BullMQ asks again at once after most errors, thousands of times a second, and never repairs its schema: every
   * question for work goes through here.
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
    opened.on('stalled', (job) => logger.warn({ queue: work.name, job }, 'a job came back: its worker went silent'));
    slowDownOnFault(opened.getBackend());
    return opened;
  };

  /** BullMQ remembers a first connection that failed for ever: such a worker is thrown away. */
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
      await inHand.windDown(closeLimitMs);
      gone.abort();
      await answerWithin(system, CLOSING_MS, `closing ${work.name}`, async () => stopped).catch((fault) => {
        logFault(fault);
        if (worker !== undefined) cutOff(worker);
      });
    },
  };
};
