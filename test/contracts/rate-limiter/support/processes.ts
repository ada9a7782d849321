import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, type TestContext, vi } from 'vitest';
import { createPool } from '../../../../src/adapters/postgres/pool.ts';
import { createPostgresRateLimiter } from '../../../../src/adapters/rate-limit/postgres.ts';
import { createSystem } from '../../../../src/adapters/system.ts';
import type { RateLimiter } from '../../../../src/domain/rate-limits.ts';
import type { System } from '../../../../src/domain/system.ts';
import { migratedDatabase, type TestDatabase } from '../../../support/postgres.ts';
import { createRecordingLogger } from '../../queue/recorder.ts';

/** A machine that is busy with other tests is no outage, after which a process counts by itself. */
const PATIENCE_MS = 3_000;

export interface ProcessOptions {
  readonly windowMs?: number;
  readonly leaseMs?: number;
  readonly patienceMs?: number;
  readonly bucketsMax?: number;
  /** How far its clock is from the others'. */
  readonly clockMs?: number;
}

export interface LimiterProcess extends RateLimiter {
  readonly sentences: readonly string[];
  /** It neither speaks nor hears, as a stopped process; the test must not take from it meanwhile. */
  freeze(): void;
  thaw(): void;
  /** As a crash: nothing is given back. */
  kill(): Promise<void>;
}

/** Timers that do not go off while it is frozen. */
const freezableSystem = (clockMs: number) => {
  const real = createSystem();
  let thawed: Promise<void> | undefined;
  let thaw = (): void => undefined;
  const system: System = {
    ...real,
    monotonicMs: () => real.monotonicMs() + clockMs,
    now: () => new Date(real.now().getTime() + clockMs),
    sleep: async (ms, signal) => {
      await real.sleep(ms, signal);
      await thawed;
    },
  };
  const freeze = (): void => {
    thawed = new Promise((resume) => {
      thaw = () => {
        thawed = undefined;
        resume();
      };
    });
  };
  return { system, freeze, thaw: () => thaw() };
};

/** A process' limiter on that database. */
export const openProcess = async (url: string, options: ProcessOptions = {}): Promise<LimiterProcess> => {
  const { clockMs = 0, patienceMs = PATIENCE_MS, ...rest } = options;
  const logger = createRecordingLogger();
  const { system, freeze, thaw } = freezableSystem(clockMs);
  const pool = createPool({
    url,
    name: 'rate limits',
    logger,
    max: 1,
    statementTimeoutMs: Math.max(1_000, patienceMs),
  });
  const limiter = await createPostgresRateLimiter({ pool, system, logger, patienceMs, ...rest });
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
    freeze,
    thaw,
    close: () => end(limiter.close),
    kill: () =>
      end(async () => {
        await pool.end();
        await limiter.close();
      }),
  };
};

/** A database, and processes on it that know one another and are closed when the test is over. */
export const openProcesses = async (
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  all: readonly ProcessOptions[],
): Promise<{ readonly database: TestDatabase; readonly processes: readonly LimiterProcess[] }> => {
  const database = await migratedDatabase();
  const processes = await Promise.all(all.map((options) => openProcess(database.url, options)));
  if (processes.length > 1) await acquainted(database.url, processes.length);
  onTestFinished(async () => {
    await Promise.all(processes.map((process) => process.close()));
    await database.drop();
  });
  return { database, processes };
};

/** A heartbeat, and what a busy machine adds to it. */
const HEARTBEAT_MS = 700;

/** Until so many processes on the database know one another, and none takes from everything any more. */
export const acquainted = async (url: string, count: number): Promise<void> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  await vi.waitFor(
    async () => {
      const { rows } = await client.query<{ alone: boolean }>('select alone from limits.processes');
      expect(rows).toEqual(Array(count).fill({ alone: false }));
    },
    { timeout: 10_000, interval: 50 },
  );
  await client.end();
  await sleep(HEARTBEAT_MS);
};

export const admitted = async (takes: readonly ReturnType<RateLimiter['take']>[]): Promise<number> =>
  (await Promise.all(takes)).filter(({ allowed }) => allowed).length;
