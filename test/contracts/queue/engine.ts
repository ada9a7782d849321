import { afterAll, beforeAll } from 'vitest';
import type { Queue, Queues } from '../../../src/domain/ports/queue.ts';
import { closedAfterTest } from '../../support/after-test.ts';

/** A store of jobs under test. */
export interface QueueEngine {
  /** Connects like another process, as far as the adapter can tell. */
  connect(options: { closeLimitMs: number }): Promise<Queues>;
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
type OpenQueue = <Job>(options?: OpenOptions) => Promise<Queue<Job>>;

/** Starts an engine before the tests of a suite, and opens its queues in them. */
export const openerOf = <Engine extends QueueEngine>(startEngine: () => Promise<Engine>) => {
  let engine: Engine;
  let count = 0;
  let name = '';
  beforeAll(async () => {
    engine = await startEngine();
  });
  afterAll(() => engine.stop());

  const open: OpenQueue = async <Job>({
    again = false,
    closeLimitMs = 2_000,
  }: OpenOptions = {}): Promise<Queue<Job>> => {
    if (!again) {
      count += 1;
      name = `test-queue-${count}`;
    }
    return closedAfterTest(await engine.connect({ closeLimitMs })).open<Job>(name);
  };
  return { open, engine: () => engine };
};
