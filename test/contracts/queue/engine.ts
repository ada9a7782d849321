import type { Queue, Queues } from '../../../src/domain/ports/queue.ts';

/** A store of jobs under test. */
export interface QueueEngine {
  /** Connects to the same jobs, like another process as far as the adapter can tell. */
  connect(options: { closeLimitMs: number }): Promise<Queues>;
  /** Deletes all data, in whatever way this engine can lose it. */
  wipe(): Promise<void>;
  stop(): Promise<void>;
}

/** Short lock time for BullMQ, so that a dead or frozen worker is detected soon. */
export const LOCK_MS = 1_000;

export interface OpenOptions {
  /** Opens the queue that this test opened before, like another process. */
  readonly again?: boolean;
  readonly closeLimitMs?: number;
}

/** Opens a queue. The first one in a test has a new name. */
export type OpenQueue = <Job>(options?: OpenOptions) => Promise<Queue<Job>>;
