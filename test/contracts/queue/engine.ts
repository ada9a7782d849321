import type { Queue, Queues } from '../../../src/domain/ports/queue.ts';

/** One store of jobs under test. */
export interface QueueEngine {
  /** Another process's view of the same jobs, as far as the adapter can tell. */
  connect(options: { closeLimitMs: number }): Promise<Queues>;
  /** Everything stored is gone, in whatever way this engine can lose it. */
  wipe(): Promise<void>;
  stop(): Promise<void>;
}

/** For BullMQ: a worker that died or froze is noticed soon. */
export const LOCK_MS = 1_000;

export interface OpenOptions {
  /** The queue that this test opened before, as another process would see it. */
  readonly again?: boolean;
  readonly closeLimitMs?: number;
}

/** Opens a queue; the first of a test has a fresh name. */
export type OpenQueue = <Job>(options?: OpenOptions) => Promise<Queue<Job>>;
