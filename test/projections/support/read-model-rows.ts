import type { Pool } from 'pg';
import { PROJECTIONS } from '../../../src/projections/all.ts';
import type { Projection } from '../../../src/projections/projection.ts';

/** All rows of a projection's tables, as sorted text, so that two read models can be compared. */
export const rowsOf = async (
  pool: Pool,
  { tables }: Projection,
  schema = 'read_models',
): Promise<Readonly<Record<string, readonly string[]>>> => {
  const found: Record<string, readonly string[]> = {};
  for (const table of tables) {
    const { rows } = await pool.query<{ row: string }>(`select t::text as row from ${schema}.${table} t order by 1`);
    found[table] = rows.map(({ row }) => row);
  }
  return found;
};

/** Rows of all projections, in their order. */
export const allRows = (pool: Pool) => Promise.all(PROJECTIONS.map((projection) => rowsOf(pool, projection)));
