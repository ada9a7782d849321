import { Pool } from 'pg';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { migrate } from '../../src/projections/migrate.ts';
import { RUNNER_CONNECTIONS, rebuild } from '../../src/projections/runner.ts';
import { rowsOf } from '../../test/projections/support/read-model-rows.ts';
import { silentLogger } from '../../test/support/logger.ts';
import type { Observer } from './observer.ts';
import { newDatabase } from './postgres-server.ts';

/** Sorted rows as text, by table. */
export type ReadModelRows = Readonly<Record<string, readonly string[]>>;

export const readModelRows = async (pool: Pool): Promise<ReadModelRows> => {
  const all = await Promise.all(PROJECTIONS.map((projection) => rowsOf(pool, projection)));
  return Object.assign({}, ...all);
};

/** Rebuilds the read models from the whole log in an empty database, as the reference for the live ones. */
export const makeReadModelsAnew = async ({ store, databaseUrl }: Observer): Promise<ReadModelRows> => {
  const database = await newDatabase(databaseUrl);
  const pool = new Pool({ connectionString: database.url, max: RUNNER_CONNECTIONS });
  pool.on('error', () => undefined);
  try {
    await migrate({ url: database.url });
    await rebuild({ pool, store, logger: silentLogger }, PROJECTIONS);
    return await readModelRows(pool);
  } finally {
    await pool.end();
    await database.drop();
  }
};
