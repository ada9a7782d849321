import { expect, type TestContext, vi } from 'vitest';
import { createPostgresRateLimiter } from '../../../../src/adapters/rate-limit/postgres.ts';
import { createSystem } from '../../../../src/adapters/system.ts';
import type { RateLimiter } from '../../../../src/domain/kernel/rate-limits.ts';
import type { System } from '../../../../src/lib/async/async.ts';
import { createPool } from '../../../../src/lib/postgres/postgres.ts';
import { migratedDatabase, type TestDatabase } from '../../../support/postgres.ts';
import { createRecordingLogger } from '../../queue/recorder.ts';

export interface ProcessOptions {
  readonly windowMs?: number;
  readonly bucketsMax?: number;
  /** Offset of its clock from the others'. */
  readonly clockMs?: number;
}

export interface LimiterProcess extends RateLimiter {
  readonly sentences: readonly string[];
  /** Kills the process, as a crash does: counts that have not been shared are lost. */
  kill(): Promise<void>;
}

/** The rate limiter of one process on the database. */
export const openProcess = async (url: string, options: ProcessOptions = {}): Promise<LimiterProcess> => {
  const { clockMs = 0, ...rest } = options;
  const logger = createRecordingLogger();
  const real = createSystem();
  const system: System = {
    ...real,
    monotonicMs: () => real.monotonicMs() + clockMs,
    now: () => new Date(real.now().getTime() + clockMs),
  };
  const pool = createPool({ url, name: 'rate limits', logger, max: 1, statementTimeoutMs: 1_000 });
  const limiter = await createPostgresRateLimiter({ pool, system, logger, ...rest });
  let isOpen = true;
  const end = async (first: () => Promise<void>): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await first();
    if (!pool.ending) await pool.end();
  };
  return {
    take: limiter.take,
    sentences: logger.sentences,
    close: () => end(limiter.close),
    kill: () =>
      end(async () => {
        await pool.end();
        await limiter.close();
      }),
  };
};

/** A database and processes on it, which are closed after the test. */
export const openProcesses = async (
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  all: readonly ProcessOptions[],
): Promise<{ readonly database: TestDatabase; readonly processes: readonly LimiterProcess[] }> => {
  const database = await migratedDatabase();
  const processes = await Promise.all(all.map((options) => openProcess(database.url, options)));
  onTestFinished(async () => {
    await Promise.all(processes.map((process) => process.close()));
    await database.drop();
  });
  return { database, processes };
};

/** Waits until a process has received the others' counts: two syncs, plus time for a busy machine. */
export const hears = (limiter: RateLimiter, bucket: string, limit: number, remaining: number): Promise<void> =>
  vi.waitFor(
    async () => {
      const state = await limiter.take(bucket, 0, limit);
      expect(state.remaining).toBe(remaining);
    },
    { timeout: 10_000, interval: 20 },
  );

export const admitted = async (takes: readonly ReturnType<RateLimiter['take']>[]): Promise<number> =>
  (await Promise.all(takes)).filter(({ allowed }) => allowed).length;
