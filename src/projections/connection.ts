import type { Pool, PoolClient } from 'pg';

/**
 * A connection of one's own, closed afterwards rather than given back, so that the locks of its session end with it.
 * That it was lost is told by the next query; without a listener the event alone would end the process.
 */
export const withConnection = async <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> => {
  const client = await pool.connect();
  client.on('error', () => undefined);
  try {
    return await work(client);
  } finally {
    client.release(true);
  }
};
