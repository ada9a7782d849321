import { createPool } from '../adapters/postgres/pool.ts';
import { createProjectionRunner, RUNNER_CONNECTIONS } from '../projections/runner.ts';
import type { Engines } from './open-engines.ts';
import type { RoleEvents, RunningRole } from './role.ts';

/** Keeps the read models up to date. @throws {StartRefused} they were made from another log. */
export const startProjections = async (engines: Engines, { onFatal }: RoleEvents): Promise<RunningRole> => {
  const { store, system, logger, databaseUrl, closers } = engines;
  // A batch of a rebuild takes as long as it takes.
  const options = { url: databaseUrl, name: 'projections', logger, max: RUNNER_CONNECTIONS, statementTimeoutMs: 0 };
  const pool = createPool(options);
  closers.add('projections pool', () => pool.end());
  const stopping = new AbortController();
  const running = createProjectionRunner({ pool, store, system, logger }).run(stopping.signal).catch(onFatal);
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};
