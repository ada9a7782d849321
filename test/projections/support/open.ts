import { Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { Logger } from '../../../src/lib/async/async.ts';
import { PROJECTIONS } from '../../../src/projections/all.ts';
import type { Projection } from '../../../src/projections/projection.ts';
import { createReadModels, type ReadModels } from '../../../src/projections/read-models.ts';
import { RUNNER_CONNECTIONS } from '../../../src/projections/runner.ts';
import { migratedDatabase } from '../../support/postgres.ts';
import { type RunningProjections, runProjections } from '../../support/run-projections.ts';

interface SentReport {
  readonly level: string;
  readonly fields: object;
  readonly sentence: string;
}

/** A logger that records its messages. */
const recordingLogger = (): Logger & { readonly said: readonly SentReport[] } => {
  const said: SentReport[] = [];
  const at = (level: string) => (fields: object, sentence: string) => {
    said.push({ level, fields, sentence });
  };
  return { said, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
};

/** A pool on a new, migrated database. Both are closed after the test. */
export const openPool = async (): Promise<Pool & { readonly url: string }> => {
  const database = await migratedDatabase();
  const pool = new Pool({ connectionString: database.url, max: RUNNER_CONNECTIONS + 4 });
  pool.on('error', () => undefined);
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  return Object.assign(pool, { url: database.url });
};

export interface Running extends Omit<RunningProjections, 'close'> {
  readonly logger: ReturnType<typeof recordingLogger>;
}

/** Starts a runner, like one process. It is stopped at the end of the test at the latest. */
export const startRunner = (
  pool: Pool,
  store: EventStore,
  projections: readonly Projection[] = PROJECTIONS,
  more: { readonly silenceMs?: number } = {},
): Running => {
  const logger = recordingLogger();
  const running = runProjections({ pool, store, system: createSystem(), logger, projections, ...more });
  onTestFinished(async () => {
    await running.stop();
  });
  return { logger, stop: running.stop, ended: running.ended };
};

export const openReadModels = (pool: Pool, store: EventStore): ReadModels =>
  createReadModels({ pool, store, system: createSystem() });

/** Longer than any test takes. After it the wait fails, which the caller asserts. */
const PATIENCE_MS = 10_000;

/** True if all read models have caught up with the current head of the log. */
export const caughtUp = async (
  pool: Pool,
  store: EventStore,
  projections: readonly Projection[] = PROJECTIONS,
): Promise<boolean> =>
  openReadModels(pool, store).waitFor(
    projections.map(({ name }) => name),
    await store.head(),
    { timeoutMs: PATIENCE_MS },
  );
