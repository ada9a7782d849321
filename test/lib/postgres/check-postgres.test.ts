import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { checkPostgres, createPool } from '../../../src/lib/postgres/pool.ts';
import { silentLogger } from '../../support/logger.ts';
import { freshDatabase } from '../../support/postgres.ts';

const check = (change: Partial<URL>, logger = silentLogger) =>
  checkPostgres({
    url: Object.assign(new URL(inject('postgresUrl')), change).href,
    setting: 'DATABASE_URL',
    product: 'Outbox',
    system: createSystem(),
    logger,
    patienceMs: 600,
  });

test('a usable PostgreSQL is accepted', async () => {
  await expect(check({})).resolves.toBeUndefined();
});

test('one that is unavailable, refuses us or has no such database is reported in a sentence without the password', async () => {
  const { host, password } = new URL(inject('postgresUrl'));
  await expect(check({ port: '1' })).rejects.toThrow(
    'PostgreSQL at 127.0.0.1:1 cannot be reached (ECONNREFUSED): start it, or correct DATABASE_URL',
  );
  await expect(check({ password: 'wrong' })).rejects.toThrow(
    `PostgreSQL at ${host} refuses the user name and password: correct them in DATABASE_URL`,
  );
  await expect(check({ pathname: '/none' })).rejects.toThrow(
    `PostgreSQL at ${host} has no database "none": create it, or correct DATABASE_URL`,
  );
  await expect(check({ pathname: '/none' })).rejects.not.toThrow(password);
});

test('a database with another encoding is refused', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const admin = createPool({ url: inject('postgresUrl'), name: 'test', logger: silentLogger });
  onTestFinished(() => admin.end());
  await admin.query(`create database latin encoding 'SQL_ASCII' template template0 locale_provider libc locale 'C'`);
  onTestFinished(async () => void (await admin.query('drop database latin with (force)')));
  await expect(check({ pathname: '/latin' })).rejects.toThrow(/is encoded in SQL_ASCII: create one with encoding UTF8/);
});

test('one that may lose confirmed writes is accepted with a warning', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { pathname } = new URL(database.url);
  const warningsOf = async (setting: string): Promise<readonly unknown[]> => {
    const admin = createPool({ url: inject('postgresUrl'), name: 'test', logger: silentLogger });
    await admin.query(`alter database ${pathname.slice(1)} set synchronous_commit = ${setting}`);
    await admin.end();
    const warn = vi.fn();
    await check({ pathname }, { ...silentLogger, warn });
    return warn.mock.calls.map(([, message]) => message);
  };
  expect(await warningsOf('off')).toEqual([
    expect.stringMatching(/has .*synchronous_commit off: accepted mail can be lost/),
  ]);
  expect(await warningsOf('local')).not.toContainEqual(expect.stringMatching(/synchronous_commit/));
});

test('a pool survives the end of its connections and opens new ones', async () => {
  const database = await freshDatabase();
  const warn = vi.fn();
  const pool = createPool({ url: database.url, name: 'test', logger: { ...silentLogger, warn } });
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const admin = createPool({ url: inject('postgresUrl'), name: 'test', logger: silentLogger });
  await admin.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  await admin.end();
  await vi.waitFor(() => expect(warn).toHaveBeenCalled(), { timeout: 20_000 });
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});

test('a statement that takes too long is cancelled', async () => {
  const database = await freshDatabase();
  const pool = createPool({ url: database.url, name: 'test', logger: silentLogger, statementTimeoutMs: 100 });
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  await expect(pool.query('select pg_sleep(10)')).rejects.toThrow(/statement timeout/);
});
