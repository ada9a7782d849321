import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { keepSessionLock, type SessionLock, takeSessionLock } from '../../../src/lib/postgres/pool.ts';
import { freshDatabase, type TestDatabase } from '../../support/postgres.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

const LOCK = 4711;

let database: TestDatabase;
let proxy: TcpProxy;

beforeEach(async () => {
  database = await freshDatabase();
  proxy = await startTcpProxy(database.url);
});
afterEach(async () => {
  await proxy.stop();
  await database.drop();
});

test('a session lock is free again once it is released', async () => {
  const lock = await takeSessionLock(proxy.url, LOCK, 'alone');
  expect(await takeSessionLock(database.url, LOCK, 'alone')).toBeNull();
  await lock?.release();
  // The server may close the session a moment after the client does.
  let again: SessionLock | null = null;
  await expect
    .poll(async () => {
      again ??= await takeSessionLock(database.url, LOCK, 'alone');
      return again;
    })
    .not.toBeNull();
  await (again as SessionLock | null)?.release();
});

test('a lock that is kept is taken again, under its name, when its session was lost', async () => {
  const system = createSystem();
  const quick = { sleep: (_ms: number, signal?: AbortSignal) => system.sleep(10, signal) };
  const name = 'outbox instance apw 1.0.0 host:1';
  const lock = await keepSessionLock({ url: database.url, lock: LOCK, name, system: quick });
  expect(lock).not.toBeNull();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const sessions = async (): Promise<number[]> => {
    const text = 'select pid from pg_stat_activity where application_name = $1';
    return (await client.query<{ pid: number }>(text, [name])).rows.map(({ pid }) => pid);
  };
  const before = await sessions();
  await client.query('select pg_terminate_backend($1)', before);
  await expect.poll(async () => (await sessions()).filter((pid) => !before.includes(pid))).toHaveLength(1);
  expect(await takeSessionLock(database.url, LOCK, 'alone')).toBeNull();
  await lock?.release();
  await expect.poll(sessions).toEqual([]);
  await client.end();
});

test('releasing a lock does not wait for a server that no longer answers', async () => {
  const lock = await takeSessionLock(proxy.url, LOCK, 'alone');
  proxy.forget(10_000);
  const began = performance.now();
  await lock?.release();
  expect(performance.now() - began).toBeLessThan(5_000);
});
