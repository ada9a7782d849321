import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RateLimiter, RateLimitResult } from '../../../src/domain/kernel/rate-limits.ts';
import { closedAfterTest } from '../../support/after-test.ts';

export interface LimiterStore {
  open(windowMs?: number): Promise<RateLimiter>;
  stop(): Promise<void>;
}

const HOUR_MS = 3_600_000;
const MOST_OF_AN_HOUR_S = 3_000;

const times = async (n: number, take: () => Promise<RateLimitResult>): Promise<RateLimitResult[]> => {
  const results: RateLimitResult[] = [];
  for (let i = 0; i < n; i += 1) results.push(await take());
  return results;
};

/** The contract of every rate limiter. */
export const describeRateLimiter = (name: string, start: () => Promise<LimiterStore>): void => {
  describe(`a rate limiter ${name}`, () => {
    let store: LimiterStore;
    let count = 0;

    beforeAll(async () => {
      store = await start();
    });
    afterAll(() => store.stop());

    /** An unused bucket. */
    const openBucket = async (windowMs?: number) => {
      const limiter = closedAfterTest(await store.open(windowMs));
      count += 1;
      const bucket = `bucket-${count}`;
      return { limiter, bucket, take: (cost: number, limit: number) => limiter.take(bucket, cost, limit) };
    };

    test('admits the whole limit at once, counting down, and then nothing', async () => {
      // An hour: on a slow machine, 101 calls outlast the second in which a window of a minute says 60.
      const { take } = await openBucket(HOUR_MS);
      const results = await times(101, () => take(1, 100));
      const admitted = results.slice(0, 100);
      expect(admitted.every(({ allowed }) => allowed)).toBe(true);
      expect(admitted.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 100 }, (_, i) => 99 - i));
      expect(admitted[0]).toMatchObject({ allowed: true, limit: 100, remaining: 99, retryAfterSeconds: 0 });
      expect(results[100]).toMatchObject({ allowed: false, limit: 100, remaining: 0 });
      const { resetSeconds, retryAfterSeconds } = results[100] as RateLimitResult;
      for (const seconds of [resetSeconds, retryAfterSeconds]) {
        expect(seconds).toBeGreaterThan(MOST_OF_AN_HOUR_S);
        expect(seconds).toBeLessThanOrEqual(HOUR_MS / 1_000);
      }
    });

    test('consumes a cost as a whole or not at all', async () => {
      const { take } = await openBucket();
      expect(await take(60, 100)).toMatchObject({ allowed: true, remaining: 40 });
      expect(await take(41, 100)).toMatchObject({ allowed: false, remaining: 40, retryAfterSeconds: 60 });
      expect(await take(40, 100)).toMatchObject({ allowed: true, remaining: 0 });
    });

    test('never admits a cost above the limit, and does not consume it', async () => {
      const { take } = await openBucket();
      const refused = await take(101, 100);
      expect(refused).toMatchObject({ allowed: false, remaining: 100, resetSeconds: 0 });
      expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(await take(100, 100)).toMatchObject({ allowed: true, remaining: 0 });
    });

    test('returns the state of a bucket for a cost of zero', async () => {
      const { take } = await openBucket();
      expect(await take(0, 5)).toMatchObject({ allowed: true, remaining: 5, resetSeconds: 0 });
      await take(2, 5);
      expect(await take(0, 5)).toMatchObject({ allowed: true, remaining: 3, resetSeconds: 60 });
    });

    test('keeps buckets separate', async () => {
      const { limiter, bucket } = await openBucket();
      await limiter.take(bucket, 1, 1);
      expect((await limiter.take(bucket, 1, 1)).allowed).toBe(false);
      expect((await limiter.take(`${bucket}-other`, 1, 1)).allowed).toBe(true);
    });

    test('admits exactly the limit of concurrent requests', async () => {
      const { take } = await openBucket();
      const results = await Promise.all(Array.from({ length: 200 }, () => take(1, 50)));
      expect(results.filter(({ allowed }) => allowed).length).toBe(50);
    });

    test('applies a changed limit at once, also to what was consumed before', async () => {
      const { take } = await openBucket();
      await take(10, 10);
      expect(await take(1, 20)).toMatchObject({ allowed: true, limit: 20, remaining: 9 });
      expect(await take(1, 5)).toMatchObject({ allowed: false, limit: 5, remaining: 0 });
    });

    test('counts the largest limits exactly', async () => {
      const { take } = await openBucket();
      expect(await take(9_999_999, 10_000_000)).toMatchObject({ allowed: true, remaining: 1 });
      expect(await take(1, 10_000_000)).toMatchObject({ allowed: true, remaining: 0 });
      expect(await take(1, 10_000_000)).toMatchObject({ allowed: false });
    });

    test('admits again after a window, whatever was refused in between', async () => {
      const windowMs = 600;
      const { take } = await openBucket(windowMs);
      const asked = performance.now();
      await take(3, 3);
      const taken = performance.now();
      let admitted = 0;
      while (admitted === 0 && performance.now() - taken < 5_000) {
        await sleep(10);
        if ((await take(3, 3)).allowed) admitted = performance.now();
      }
      // A request that is refused every 10 ms would never be admitted if it began the window again.
      expect(admitted - asked).toBeGreaterThan(windowMs - 20);
    });
  });
};
