import { createPool } from '../adapters/postgres/pool.ts';
import { createProjectionRunner, RUNNER_CONNECTIONS } from '../projections/runner.ts';
import type { RoleEvents, RunningRole } from './lifecycle.ts';
import type { Engines } from './open-engines.ts';

/**
 * For one statement of a batch. Longer waits longer for a server that vanished, shorter repeats what a slow disk cannot
 * finish in time.
 */
const STATEMENT_MS = 30_000;

/** Keeps the read models up to date. @throws {StartRefused} they were made from another log. */
export const startProjections = async (engines: Engines, { onFatal }: RoleEvents): Promise<RunningRole> => {
  const { store, logFollower: log, system, logger, databaseUrl, closers, decorate } = engines;
  const options = { url: databaseUrl, logger, max: RUNNER_CONNECTIONS };
  const pool = decorate.pool(createPool({ ...options, name: 'projections', statementTimeoutMs: STATEMENT_MS }));
  closers.add('projections pool', () => pool.end());
  // A rebuild's statements have no time limit.
  const rebuildPool = createPool({ ...options, name: 'rebuilds', statementTimeoutMs: 0 });
  closers.add('rebuilds pool', () => rebuildPool.end());
  const stopping = new AbortController();
  const runner = createProjectionRunner({ pool, rebuildPool, store, log, system, logger });
  const ended = runner.run(stopping.signal).catch(onFatal);
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
};
