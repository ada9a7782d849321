import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeSessionLock } from '../../../src/adapters/postgres/session-lock.ts';
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
  const again = await takeSessionLock(database.url, LOCK, 'alone');
  expect(again).not.toBeNull();
  await again?.release();
});

test('whoever releases it does not wait for a server that says nothing any more', async () => {
  const lock = await takeSessionLock(proxy.url, LOCK, 'alone');
  proxy.forget(10_000);
  const began = performance.now();
  await lock?.release();
  expect(performance.now() - began).toBeLessThan(5_000);
});
