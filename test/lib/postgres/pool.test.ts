import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '../../../src/lib/postgres/pool.ts';
import { silentLogger } from '../../support/logger.ts';
import { freshDatabase, type TestDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const openPool = () => {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
  return { warnings, pool: createPool({ url: database.url, name: 'tried', logger }) };
};

test('the end of an idle connection by the server is logged, and the next query opens another', async () => {
  const { pool, warnings } = openPool();
  const [first, second] = [await pool.connect(), await pool.connect()];
  const { rows } = await first.query<{ pid: number }>('select pg_backend_pid() as pid');
  first.release();
  await second.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  await expect.poll(() => warnings).toContain('an idle database connection broke');
  second.release();
  const { rows: answered } = await pool.query('select 1 as one');
  expect(answered).toEqual([{ one: 1 }]);
  await pool.end();
});

test('a connection that breaks while it is checked out is reported by its next query, and ends no process', async () => {
  const { pool } = openPool();
  const [first, second] = [await pool.connect(), await pool.connect()];
  const { rows } = await first.query<{ pid: number }>('select pg_backend_pid() as pid');
  const broken = new Promise((resolve) => first.once('end', () => resolve('ended')));
  await second.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  expect(await broken).toBe('ended'); // an unhandled error would have failed the run
  await expect(first.query('select 1')).rejects.toThrow();
  first.release(true);
  second.release();
  await pool.end();
});

test('a connection is read committed, whatever the default of the database', async () => {
  const { pool: operator } = openPool();
  const name = new URL(database.url).pathname.slice(1);
  await operator.query(`alter database "${name}" set default_transaction_isolation = 'serializable'`);
  const { pool } = openPool();
  const { rows } = await pool.query<{ transaction_isolation: string }>('show transaction_isolation');
  expect(rows).toEqual([{ transaction_isolation: 'read committed' }]);
  await operator.query(`alter database "${name}" reset default_transaction_isolation`);
  await Promise.all([operator.end(), pool.end()]);
});

test('a connection that the server ends while the pool is closing is ignored', async () => {
  const { pool, warnings } = openPool();
  await pool.query('select 1');
  const ended = pool.end();
  pool.emit('error', new Error('terminating connection due to administrator command'));
  await ended;
  expect(warnings).toEqual([]);
});
