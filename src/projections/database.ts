import type { Pool, PoolClient } from 'pg';

/** A pool for reading, or one connection inside a transaction. */
export type Database = Pick<Pool, 'query'> | Pick<PoolClient, 'query'>;

/** The live read models, those that a rebuild prepares, and those of a moment (`replay`). */
export type ReadModelSchema = 'read_models' | 'read_models_building' | `${string}replay_${string}`;

/**
 * Runs `work` in one transaction with `schema` as the search path. The commit does not wait for the disk: a crash loses
 * rows and checkpoint together, and they are derived from the log again.
 */
export const inTransaction = async <T>(
  client: Database,
  schema: ReadModelSchema,
  work: () => Promise<T>,
): Promise<T> => {
  await client.query(`begin; set local search_path to ${schema}; set local synchronous_commit to off`);
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    // Not awaited: a lost connection has rolled back, and a silent one does not answer.
    void client.query('rollback').catch(() => undefined);
    throw error;
  }
};

/**
 * Rows as one parameter for `json_to_recordset($1)`. For 10,000 rows of twelve columns, arrays for `unnest` cost this
 * thread, which all projections share, three to five times as much, and save PostgreSQL a tenth.
 */
export const asRecords = (rows: readonly object[]): [string] => [JSON.stringify(rows)];
