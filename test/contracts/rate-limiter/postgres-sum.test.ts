import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { migratedDatabase } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { acquainted, type LimiterProcess, openProcess } from './support/processes.ts';

const WINDOW_MS = 1_000;
const LEASE_MS = 1_500;
const LENGTH_MS = 4_000;

/** A take is admitted a moment before its caller knows. */
const TOLERANCE_MS = 60;

/** Of one bucket: its limit, and when it is taken from at which process. */
const arbitraryBucket = fc.record({
  limit: fc.oneof(fc.constantFrom(1, 2, 3, 100), fc.integer({ min: 1, max: 40 })),
  takes: fc.array(
    fc.record({
      atMs: fc.oneof(fc.integer({ min: 0, max: LENGTH_MS }), fc.constantFrom(0, 500, 1_500, 1_501, 2_600)),
      process: fc.integer({ min: 0, max: 2 }),
      cost: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 5 })),
      times: fc.constantFrom(1, 1, 2, 10, 30),
    }),
    { minLength: 5, maxLength: 40 },
  ),
});
type Bucket = typeof arbitraryBucket extends fc.Arbitrary<infer T> ? T : never;

interface Admission {
  readonly atMs: number;
  readonly cost: number;
  readonly process: number;
}

type Take = (process: number, bucket: string, cost: number, limit: number) => Promise<boolean>;

const play = async (bucket: string, { limit, takes }: Bucket, take: Take): Promise<readonly Admission[]> => {
  const admissions: Admission[] = [];
  const began = performance.now();
  const one = async ({ atMs, process, cost, times }: Bucket['takes'][number]): Promise<void> => {
    await sleep(Math.max(0, began + atMs - performance.now()));
    const takeOnce = async (): Promise<void> => {
      if (await take(process, bucket, cost, limit)) admissions.push({ atMs: performance.now(), cost, process });
    };
    await Promise.all(Array.from({ length: times }, takeOnce));
  };
  await Promise.all(takes.map(one));
  return admissions.sort((a, b) => a.atMs - b.atMs);
};

/** The most that was admitted in any window. */
const mostInWindow = (admissions: readonly Admission[]): number =>
  Math.max(
    0,
    ...admissions.map(({ atMs: end }) =>
      admissions
        .filter(({ atMs }) => atMs <= end && atMs > end - WINDOW_MS + TOLERANCE_MS)
        .reduce((sum, { cost }) => sum + cost, 0),
    ),
  );

/** Three processes whose clocks differ, the last by way of a proxy. */
const openThree = async () => {
  const database = await migratedDatabase();
  const proxy = await startTcpProxy(database.url);
  const timing = { windowMs: WINDOW_MS, leaseMs: LEASE_MS };
  const processes: readonly LimiterProcess[] = await Promise.all([
    openProcess(database.url, timing),
    openProcess(database.url, { ...timing, clockMs: 86_400_000 }),
    openProcess(proxy.url, { ...timing, clockMs: -3_600_000 }),
  ]);
  await acquainted(database.url, processes.length);
  const away = new Set<number>();
  const take: Take = async (process, ...rest) => {
    const result = away.has(process) ? undefined : await processes[process]?.take(...rest);
    return result?.allowed === true;
  };
  const close = async (): Promise<void> => {
    proxy.mend();
    for (const process of processes) {
      process.thaw();
      await process.close();
    }
    await proxy.stop();
    await database.drop();
  };
  return { proxy, processes, away, take, close };
};
type Three = Awaited<ReturnType<typeof openThree>>;

/** A process that has met an outage, which a very busy machine brings about too, has let its even part through. */
const OUTAGE = /does not answer|answers late/;

const expectWithin = (admissions: readonly Admission[], { limit }: Bucket, outages: number): void =>
  expect(mostInWindow(admissions)).toBeLessThanOrEqual(limit + outages * Math.max(1, Math.floor(limit / 3)));

const arbitraryBuckets = fc.array(arbitraryBucket, { minLength: 25, maxLength: 25 });

/** Plays all buckets at once on processes of their own while `happen` goes on, and looks at each. */
const holds = (
  happen: (three: Three) => Promise<void>,
  look: (admissions: readonly Admission[], bucket: Bucket, outages: number) => void,
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(arbitraryBuckets, async (buckets) => {
      const three = await openThree();
      try {
        const happening = happen(three);
        const played = await Promise.all(buckets.map((bucket, i) => play(`bucket-${i}`, bucket, three.take)));
        await happening;
        const outages = three.processes.filter(({ sentences }) => sentences.some((one) => OUTAGE.test(one))).length;
        for (const [i, bucket] of buckets.entries()) look(played[i] ?? [], bucket, outages);
      } finally {
        await three.close();
      }
    }),
    { numRuns: 1, endOnFailure: true },
  );

describe.concurrent('the sum over three processes on PostgreSQL', () => {
  test('is never more than the limit in any window, whatever arrives when', { timeout: 60_000 }, () =>
    holds(async () => undefined, expectWithin),
  );

  test('is never more than the limit while one is frozen and goes on, and another is killed', { timeout: 60_000 }, () =>
    holds(async ({ processes, away }) => {
      const [killed, frozen] = processes;
      await sleep(700);
      away.add(1);
      frozen?.freeze();
      await sleep(600);
      away.add(0);
      await killed?.kill();
      await sleep(LEASE_MS);
      frozen?.thaw();
      away.delete(1);
    }, expectWithin),
  );

  test('is more by no more than the even part of one whose connection is cut', { timeout: 60_000 }, () =>
    holds(
      async ({ proxy }) => {
        await sleep(800);
        proxy.cut();
        await sleep(1_800);
        proxy.mend();
      },
      (admissions, bucket, outages) => {
        expectWithin(admissions, bucket, Math.max(outages, 1));
        const ofOthers = admissions.filter(({ process }) => process !== 2);
        expectWithin(ofOthers, bucket, Math.max(outages - 1, 0));
      },
    ),
  );
});
