import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, type TestContext, test, vi } from 'vitest';
import type { RateLimiter } from '../../../src/domain/rate-limits.ts';
import { migratedDatabase } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { acquainted, admitted, openProcess, openProcesses } from './support/processes.ts';

const LOST = 'rate limits: PostgreSQL does not answer, each process counts by itself';
const BACK = 'rate limits: PostgreSQL answers again and counts for all';

const many = (n: number, take: () => ReturnType<RateLimiter['take']>) => Array.from({ length: n }, take);

/** One after another, as a client does that waits for its answers. */
const inTurn = async (n: number, take: () => ReturnType<RateLimiter['take']>): Promise<number> => {
  let count = 0;
  for (let i = 0; i < n; i += 1) if ((await take()).allowed) count += 1;
  return count;
};

const pick = <T>(all: readonly T[], index: number): T => {
  const one = all[index % all.length];
  if (one === undefined) throw new Error('none');
  return one;
};

const rowsOf = async (url: string): Promise<number> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ n: number }>('select count(*)::int as n from limits.slices');
  await client.end();
  return rows[0]?.n ?? -1;
};

/** Two processes, the first by way of a proxy. */
const openByProxy = async ({ onTestFinished }: TestContext) => {
  const database = await migratedDatabase();
  const proxy = await startTcpProxy(database.url);
  const one = await openProcess(proxy.url, { patienceMs: 50 });
  const other = await openProcess(database.url);
  await acquainted(database.url, 2);
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
  test('admit together exactly the limit of takes that arrive at all of them at once', async (context) => {
    const { processes } = await openProcesses(context, [{}, {}, {}]);
    expect(await admitted(processes.flatMap(({ take }) => many(150, () => take('key', 1, 100))))).toBe(100);
  });

  test('give a key whose requests all go to one of them its whole limit, and count it down', async (context) => {
    const { processes } = await openProcesses(context, [{}, {}, {}]);
    const results = [];
    for (let i = 0; i < 101; i += 1) results.push(await pick(processes, 0).take('key', 1, 100));
    expect(results.map(({ allowed }) => allowed)).toEqual([...Array(100).fill(true), false]);
    expect(results.map(({ remaining }) => remaining)).toEqual([...Array.from({ length: 100 }, (_, i) => 99 - i), 0]);
    expect(results[100]).toMatchObject({ retryAfterSeconds: 60, resetSeconds: 60 });
    expect(await pick(processes, 1).take('key', 1, 100)).toMatchObject({ allowed: false, remaining: 0 });
    await vi.waitFor(async () => {
      expect((await pick(processes, 1).take('key', 1, 100)).retryAfterSeconds).toBeGreaterThan(50);
    }, 5_000);
  });

  test.for([1, 3])('admit a limit of %i among four of them, whichever they are asked at', async (limit, context) => {
    const { processes } = await openProcesses(context, [{}, {}, {}, {}]);
    let turn = 0;
    const next = () => {
      turn += 1;
      return pick(processes, turn).take('in turn', 1, limit);
    };
    expect(await inTurn(12, next)).toBe(limit);
    expect(await admitted(processes.flatMap(({ take }) => many(5, () => take('at once', 1, limit))))).toBe(limit);
  });

  test('take a batch whole or not at all, from what all of them have left', async (context) => {
    const { processes } = await openProcesses(context, [{}, {}]);
    const [one, other] = [pick(processes, 0), pick(processes, 1)];
    expect(await one.take('key', 60, 100)).toMatchObject({ allowed: true, remaining: 40 });
    expect(await other.take('key', 41, 100)).toMatchObject({ allowed: false });
    await vi.waitFor(async () => expect((await other.take('key', 40, 100)).allowed).toBe(true), 3_000);
    expect(await other.take('key', 1, 100)).toMatchObject({ allowed: false, remaining: 0 });
    expect(await one.take('key', 1, 100)).toMatchObject({ allowed: false, remaining: 0 });
  });

  test('ask nothing of the database for a key they know', async (context) => {
    const { proxy, one } = await openByProxy(context);
    await one.take('key', 1, 1_000);
    proxy.freeze();
    const asked = performance.now();
    expect(await inTurn(100, () => one.take('key', 1, 1_000))).toBe(100);
    expect(performance.now() - asked).toBeLessThan(20);
  });

  test('give what they do not use to the one that needs it, within seconds', async (context) => {
    const { processes } = await openProcesses(context, [{}, {}]);
    const [one, other] = [pick(processes, 0), pick(processes, 1)];
    await one.take('key', 1, 100);
    let count = await inTurn(120, () => other.take('key', 1, 100));
    await vi.waitFor(
      async () => {
        count += await inTurn(20, () => other.take('key', 1, 100));
        expect(count).toBe(99);
      },
      { timeout: 6_000, interval: 200 },
    );
  });

  test('share a key evenly once all of them need it, also where one had all of it', async (context) => {
    const { database, processes } = await openProcesses(context, [{ windowMs: 1_000 }]);
    const one = pick(processes, 0);
    expect(await inTurn(100, () => one.take('key', 1, 100))).toBe(100);
    const other = await openProcess(database.url, { windowMs: 1_000 });
    const both = async (ms: number): Promise<readonly [number, number]> => {
      const counts: [number, number] = [0, 0];
      for (const began = performance.now(); performance.now() - began < ms; await sleep(5)) {
        counts[0] += await inTurn(5, () => one.take('key', 1, 100));
        counts[1] += await inTurn(5, () => other.take('key', 1, 100));
      }
      return counts;
    };
    await both(3_000);
    // A machine that does much else can starve one of them for a while, but not again and again.
    await vi.waitFor(
      async () => {
        const [ofOne, ofOther] = await both(3_000);
        expect(ofOne + ofOther).toBeLessThanOrEqual(400);
        expect(ofOne + ofOther).toBeGreaterThan(180);
        expect(Math.min(ofOne, ofOther) / (ofOne + ofOther)).toBeGreaterThan(0.35);
      },
      { timeout: 12_000, interval: 0 },
    );
    await other.close();
  });

  test('have what a killed one held back, once all it can have taken has left the window', async (context) => {
    const timing = { windowMs: 1_000, leaseMs: 1_500 };
    const { processes } = await openProcesses(context, [timing, timing, timing]);
    const [one, other] = [pick(processes, 0), pick(processes, 1)];
    await one.take('key', 30, 60);
    await one.kill();
    expect(await other.take('key', 60, 60)).toMatchObject({ allowed: false });
    await vi.waitFor(async () => expect((await other.take('key', 60, 60)).allowed).toBe(true), {
      timeout: 8_000,
      interval: 100,
    });
  });

  test('keep counting what one had taken that ended, until it has left the window', async (context) => {
    const { processes } = await openProcesses(context, [{}, {}]);
    await pick(processes, 0).take('key', 30, 60);
    await pick(processes, 0).close();
    expect(await pick(processes, 1).take('key', 0, 60)).toMatchObject({ remaining: 30 });
  });

  test('begin afresh beside one that died while it was alone, without delaying the start', async (context) => {
    const { database, processes } = await openProcesses(context, [{}]);
    await pick(processes, 0).kill();
    const began = performance.now();
    const next = await openProcess(database.url);
    expect(performance.now() - began).toBeLessThan(2_500);
    expect((await next.take('key', 1, 2)).allowed).toBe(true);
    await vi.waitFor(async () => expect(await next.take('other', 0, 50)).toMatchObject({ remaining: 50 }), 8_000);
    await next.close();
  });

  test('remember no more buckets than they may, in the database neither', async (context) => {
    const { database, processes } = await openProcesses(context, [{ bucketsMax: 3 }, { bucketsMax: 3 }]);
    for (let i = 0; i < 50; i += 1) await pick(processes, 0).take(`key-${i}`, 1, 10);
    await vi.waitFor(async () => expect(await rowsOf(database.url)).toBeLessThanOrEqual(3), 5_000);
  });

  test('limit by themselves, without waiting, while the database does not answer, and return when it does', async (context) => {
    const { proxy, one, other } = await openByProxy(context);
    expect(await other.take('key', 80, 100)).toMatchObject({ allowed: true });
    proxy.freeze();
    const asked = performance.now();
    expect(await one.take('key', 30, 100)).toMatchObject({ allowed: true });
    expect(performance.now() - asked).toBeLessThan(150);
    const again = performance.now();
    expect(await inTurn(100, () => one.take('key', 1, 100))).toBe(20);
    expect(await inTurn(100, () => one.take('new', 1, 100))).toBe(50);
    expect(performance.now() - again).toBeLessThan(50);
    await vi.waitFor(() => expect(one.sentences).toContain(LOST), 10_000);
    proxy.thaw();
    await vi.waitFor(() => expect(one.sentences).toContain(BACK), 10_000);
    await vi.waitFor(async () => expect((await one.take('key', 1, 100)).allowed).toBe(false));
    await sleep(1_200);
    expect(await admitted([one, other].flatMap(({ take }) => many(100, () => take('new', 1, 100))))).toBe(50);
  }, 30_000);

  test('limit by themselves while the connection is cut, and return when it is mended', async (context) => {
    const { proxy, one } = await openByProxy(context);
    proxy.cut();
    expect(await admitted(many(20, () => one.take('key', 1, 6)))).toBe(3);
    await vi.waitFor(() => expect(one.sentences).toContain(LOST), 5_000);
    proxy.mend();
    await vi.waitFor(() => expect(one.sentences.at(-1)).toBe(BACK), 5_000);
    expect(await one.take('other', 1, 6)).toMatchObject({ allowed: true, remaining: 5 });
  });

  test('go on when all they agreed on is deleted, and agree anew', async (context) => {
    const { database, processes } = await openProcesses(context, [{}, {}]);
    await pick(processes, 0).take('key', 60, 100);
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('truncate limits.processes, limits.slices, limits.wants');
    await client.end();
    await sleep(3_000); // time for both to be alone, to hear of one another and to tell what they hold
    expect(await admitted(processes.flatMap(({ take }) => many(100, () => take('key', 1, 100))))).toBe(40);
  });
});
