import type { Job as BullJob, JobsOptions } from 'bullmq';
import type { QueueName } from '../../domain/ports/queue.ts';
import type { Logger, System } from '../../lib/async/async.ts';

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
export interface WorkerOptions {
  readonly autorun: false;
  readonly concurrency: number;
  readonly lockDuration: number;
  readonly stalledInterval: number;
  readonly maxStalledCount: number;
  readonly runRetryDelay: number;
}

/** The used part of BullMQ's `Worker`. */
export interface BullWorker {
  on(event: 'error', listener: (fault: Error) => void): unknown;
  on(event: 'stalled', listener: (jobId: string) => void): unknown;
  waitUntilReady(): Promise<void>;
  run(): Promise<void>;
  close(): Promise<void>;
  disconnect(): Promise<void>;
  getBackend(): { moveToActive(token: string, name?: string): Promise<unknown[]> };
}
