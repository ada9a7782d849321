import type { Pool, PoolClient } from 'pg';

/** Whatever answers a query: a pool for reading, one connection inside a transaction. */
export type Database = Pick<Pool, 'query'> | Pick<PoolClient, 'query'>;

/** Where the read models are that queries see, and where a rebuild makes the ones that will replace them. */
export type ReadModelSchema = 'read_models' | 'read_models_building';

/**
 * Runs `work` in one transaction, in which names of tables without a schema mean those of `schema`. The commit does not
 * wait for the disk: rows and checkpoint are lost together, and made again from the log.
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
    // Not waited for: a connection that is gone has rolled back by itself, and one that is silent does not answer.
    void client.query('rollback').catch(() => undefined);
    throw error;
  }
};

/**
 * Rows as one parameter, for `json_to_recordset($1)`. Twelve columns of 10,000 rows as arrays for `unnest` cost three to
 * five times the time of this thread, which all projections share, and PostgreSQL gains a tenth by them.
 */
export const asRecords = (rows: readonly object[]): [string] => [JSON.stringify(rows)];
