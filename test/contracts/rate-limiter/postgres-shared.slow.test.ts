import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, type TestContext, test, vi } from 'vitest';
import type { RateLimiter } from '../../../src/domain/kernel/rate-limits.ts';
import { migratedDatabase } from '../../support/postgres.ts';
import { slowness } from '../../support/slowness.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { admitted, hears, openProcess, openProcesses } from './support/processes.ts';

const LOST = 'rate limits: PostgreSQL does not answer. Each process counts separately';
const BACK = 'rate limits: PostgreSQL answers again. Processes share their counts';

const many = (n: number, take: () => ReturnType<RateLimiter['take']>) => Array.from({ length: n }, take);

const pick = <T>(all: readonly T[], index: number): T => {
  const one = all[index % all.length];
  if (one === undefined) throw new Error('none');
  return one;
};

const inDatabase = async <T>(url: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** Two processes, the first of which connects through a proxy. */
const openByProxy = async ({ onTestFinished }: TestContext) => {
  const database = await migratedDatabase();
  const proxy = await startTcpProxy(database.url);
  const one = await openProcess(proxy.url);
  const other = await openProcess(database.url);
  onTestFinished(async () => {
    proxy.thaw();
    proxy.mend();
    await one.close();
    await other.close();
    await proxy.stop();
    await database.drop();
  });
  return { proxy, one, other };
};

describe.concurrent('rate limiters of several processes on PostgreSQL', () => {
  test('count together, whatever their clocks show', async (context) => {
    const clocks = [{}, { clockMs: 86_400_000 }, { clockMs: -3_600_000 }];
    const { processes } = await openProcesses(context, clocks);
    for (const [index, { take }] of processes.entries()) {
      expect(await admitted(many(20, () => take('key', 1, 100)))).toBe(20);
      for (const each of processes) await hears(each, 'key', 100, 100 - 20 * (index + 1));
    }
    expect(await pick(processes, 0).take('key', 41, 100)).toMatchObject({ allowed: false, remaining: 40 });
    expect(await pick(processes, 1).take('key', 40, 100)).toMatchObject({ allowed: true, remaining: 0 });
    await hears(pick(processes, 2), 'key', 100, 0);
    const refused = await pick(processes, 2).take('key', 1, 100);
    expect(refused).toMatchObject({ allowed: false, limit: 100, remaining: 0 });
    expect(refused.retryAfterSeconds).toBeGreaterThan(40);
    expect(refused.resetSeconds).toBeGreaterThan(50);
  });

  test('exceed a limit by what arrives between two syncs at most', async (context) => {
    const { processes } = await openProcesses(context, [{}, {}, {}]);
    const all = processes.flatMap(({ take }) => many(150, () => take('key', 1, 100)));
    const together = await admitted(all);
    expect(together).toBeGreaterThanOrEqual(100);
    expect(together).toBeLessThanOrEqual(300);
    for (const process of processes) await hears(process, 'key', 100, 0);
    expect(await admitted(processes.flatMap(({ take }) => many(50, () => take('key', 1, 100))))).toBe(0);
  });

  test('keep the limit in every one-second window under a steady load', async (context) => {
    const windowMs = 1_000;
    const { processes } = await openProcesses(context, [{ windowMs }, { windowMs }]);
    const takes: ReturnType<RateLimiter['take']>[] = [];
    for (const began = performance.now(); performance.now() - began < 4_000; await sleep(2)) {
      takes.push(...processes.map(({ take }) => take('key', 1, 100)));
    }
    const count = await admitted(takes);
    // Four windows. In each, a process may admit more before it learns of the other's requests.
    expect(count).toBeGreaterThan(250 / slowness());
    expect(count).toBeLessThan(4 * 100 * 2);
  });

  test('return what others admitted when it leaves the window, not before', async (context) => {
    const { processes } = await openProcesses(context, [{ windowMs: 2_000 }, { windowMs: 2_000 }]);
    const [one, other] = [pick(processes, 0), pick(processes, 1)];
    const taken = performance.now();
    await one.take('key', 3, 3);
    await hears(other, 'key', 3, 0);
    await hears(other, 'key', 3, 3);
    const freedAfterMs = performance.now() - taken;
    expect(freedAfterMs).toBeGreaterThan(1_980);
    expect(freedAfterMs).toBeLessThan(4_000 * slowness());
  });

  test('admit a key without waiting for a database query', async (context) => {
    const { proxy, one } = await openByProxy(context);
    proxy.freeze();
    const asked = performance.now();
    for (let i = 0; i < 100; i += 1) expect((await one.take(`key-${i}`, 1, 10)).allowed).toBe(true);
    expect(performance.now() - asked).toBeLessThan(50 * slowness());
  });

  test('know what a closed limiter admitted, even in a process that starts later', async (context) => {
    const { database, processes } = await openProcesses(context, [{}]);
    await pick(processes, 0).take('key', 30, 60);
    await pick(processes, 0).close();
    const next = await openProcess(database.url);
    expect(await next.take('key', 0, 60)).toMatchObject({ remaining: 30 });
    await next.close();
  });

  test('start without delay after another one crashed', async (context) => {
    const { database, processes } = await openProcesses(context, [{}]);
    await pick(processes, 0).kill();
    const began = performance.now();
    const next = await openProcess(database.url);
    expect(performance.now() - began).toBeLessThan(1_500 * slowness());
    expect((await next.take('key', 1, 2)).allowed).toBe(true);
    await next.close();
  });

  test('sync more keys than fit into one statement', async (context) => {
    const { processes } = await openProcesses(context, [{}, {}]);
    for (let i = 0; i < 2_500; i += 1) await pick(processes, 0).take(`key-${i}`, 1, 10);
    for (const i of [0, 1_200, 2_499]) await hears(pick(processes, 1), `key-${i}`, 10, 9);
  });

  test('remember a limited number of keys, and soon leave no rows behind', async (context) => {
    const { database, processes } = await openProcesses(context, [{ bucketsMax: 3, windowMs: 2_500 }]);
    const { take } = pick(processes, 0);
    for (let i = 0; i < 50; i += 1) await take(`key-${i}`, 1, 1);
    // Forgotten once its count has been shared with the others, long before its window ends.
    await vi.waitFor(async () => expect((await take('key-0', 1, 1)).allowed).toBe(true), 2_000);
    expect((await take('key-0', 1, 1)).allowed).toBe(false);
    await sleep(3_000); // older than two windows
    const next = await openProcess(database.url, { windowMs: 500 });
    await vi.waitFor(async () => {
      const { rows } = await inDatabase(database.url, (client) => client.query('select from limits.counters'));
      expect(rows).toHaveLength(0);
    }, 5_000);
    await next.close();
  });

  test('count separately, without waiting, while the database does not answer, and together when it does', async (context) => {
    const { proxy, one, other } = await openByProxy(context);
    await other.take('key', 80, 100);
    await hears(one, 'key', 100, 20);
    proxy.freeze();
    const asked = performance.now();
    expect(await one.take('key', 30, 100)).toMatchObject({ allowed: false, remaining: 20 });
    expect(await admitted(many(60, () => one.take('new', 1, 50)))).toBe(50);
    expect(performance.now() - asked).toBeLessThan(50 * slowness());
    await vi.waitFor(() => expect(one.sentences).toContain(LOST), 15_000);
    expect(await admitted(many(60, () => other.take('new', 1, 50)))).toBe(50);
    proxy.thaw();
    await vi.waitFor(() => expect(one.sentences).toEqual([LOST, BACK]), 15_000);
    await hears(one, 'new', 50, 0);
    expect(await admitted([one, other].flatMap(({ take }) => many(50, () => take('new', 1, 100))))).toBe(0);
  });

  test('count separately while the connection is cut, and together when it is restored', async (context) => {
    const { proxy, one, other } = await openByProxy(context);
    proxy.cut();
    expect(await admitted(many(20, () => one.take('key', 1, 6)))).toBe(6);
    await vi.waitFor(() => expect(one.sentences).toContain(LOST), 15_000);
    proxy.mend();
    await vi.waitFor(() => expect(one.sentences.at(-1)).toBe(BACK), 15_000);
    await hears(other, 'key', 6, 0);
  });

  test('continue with what each of them knows when the table is emptied', async (context) => {
    const { database, processes } = await openProcesses(context, [{}, {}]);
    const [one, other] = [pick(processes, 0), pick(processes, 1)];
    await one.take('key', 60, 100);
    await hears(other, 'key', 100, 40);
    await inDatabase(database.url, (client) => client.query('truncate limits.counters'));
    await other.take('key', 30, 100);
    await hears(one, 'key', 100, 10);
  });
});
