import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { type Run, type TakeResult, takeFrom } from '../../../src/adapters/rate-limit/in-memory.ts';
import { TAKE_AT_NOW } from '../../../src/adapters/rate-limit/redis.ts';
import { redisIsMissing, startRedis } from '../../support/redis.ts';

const WINDOW_MS = 60_000;
const RUN_MS = WINDOW_MS / 60;

/** Requests at irregular times: bursts, and pauses of about the length of a run or of the window. */
const arbitraryTakes = fc.array(
  fc.record({
    pauseMs: fc.oneof(
      fc.constantFrom(0, 1, RUN_MS - 1, RUN_MS, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + RUN_MS),
      fc.integer({ min: 0, max: 3_000 }),
      fc.integer({ min: 0, max: 70_000 }),
    ),
    cost: fc.integer({ min: 0, max: 12 }),
  }),
  { minLength: 1, maxLength: 120 },
);

interface Entry {
  readonly atMs: number;
  readonly cost: number;
}

/** The naive model: a full log, summed over the last `windowMs`. */
const costSince = (log: readonly Entry[], nowMs: number, windowMs: number): number =>
  log.filter(({ atMs }) => atMs > nowMs - windowMs).reduce((sum, { cost }) => sum + cost, 0);

interface Step {
  readonly nowMs: number;
  readonly cost: number;
  readonly taken: TakeResult;
  readonly runs: readonly Run[];
  /** All earlier admitted requests. */
  readonly log: readonly Entry[];
}

/** Makes the requests one after another. Each step contains the state of the bucket after it. */
const replay = (takes: readonly { pauseMs: number; cost: number }[], limit: number): readonly Step[] => {
  const runs: Run[] = [];
  const log: Entry[] = [];
  let nowMs = 0;
  return takes.map(({ pauseMs, cost }) => {
    nowMs += pauseMs;
    const taken = takeFrom(runs, { cost, limit, nowMs, windowMs: WINDOW_MS });
    const step = { nowMs, cost, taken, runs: structuredClone(runs), log: [...log] };
    if (taken.allowed) log.push({ atMs: nowMs, cost });
    return step;
  });
};

/** Asserts a result between the naive model and the same model with a window that is one run longer. */
const expectWithinModel = ({ nowMs, cost, taken, runs, log }: Step, limit: number): void => {
  const least = costSince(log, nowMs, WINDOW_MS) + cost;
  const most = costSince(log, nowMs, WINDOW_MS + RUN_MS) + cost;
  expect(taken.allowed ? least <= limit : most > limit).toBe(true);
  const used = taken.used + (taken.allowed ? 0 : cost);
  expect(used).toBeGreaterThanOrEqual(least);
  expect(used).toBeLessThanOrEqual(most);
  expect(runs.length).toBeLessThanOrEqual(61);
};

describe('a sliding window', () => {
  test('admits nothing that an exact log would refuse, and everything it would admit a sixtieth of the window later', () => {
    fc.assert(
      fc.property(arbitraryTakes, fc.integer({ min: 1, max: 30 }), (takes, limit) => {
        for (const step of replay(takes, limit)) expectWithinModel(step, limit);
      }),
    );
  });

  test('admits after exactly the stated wait, not a millisecond before, and is full after the stated reset', () => {
    fc.assert(
      fc.property(arbitraryTakes, fc.integer({ min: 12, max: 30 }), (takes, limit) => {
        for (const { nowMs, cost, taken, runs } of replay(takes, limit)) {
          const later = (ms: number, asked = cost): TakeResult =>
            takeFrom(structuredClone([...runs]), { cost: asked, limit, nowMs: nowMs + ms, windowMs: WINDOW_MS });
          expect(taken.allowed || !later(taken.retryAfterMs - 1).allowed).toBe(true);
          expect(taken.allowed || later(taken.retryAfterMs).allowed).toBe(true);
          expect(later(taken.resetMs, 0).used).toBe(0);
          expect(Math.max(taken.retryAfterMs, taken.resetMs)).toBeLessThanOrEqual(WINDOW_MS);
        }
      }),
    );
  });
});

describe.skipIf(redisIsMissing)('a sliding window in Redis', () => {
  test('answers every sequence of requests like the one in memory', async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    const script = `local now = tonumber(ARGV[4])\n${TAKE_AT_NOW}`;
    let bucket = 0;
    try {
      await fc.assert(
        fc.asyncProperty(arbitraryTakes, fc.integer({ min: 1, max: 30 }), async (takes, limit) => {
          bucket += 1;
          const runs: Run[] = [];
          let nowMs = 1_700_000_000_000;
          const expected: number[][] = [];
          const pipeline = redis.pipeline();
          for (const { pauseMs, cost } of takes) {
            nowMs += pauseMs;
            const taken = takeFrom(runs, { cost, limit, nowMs, windowMs: WINDOW_MS });
            expected.push([taken.allowed ? 1 : 0, taken.used, taken.resetMs, taken.retryAfterMs]);
            pipeline.eval(script, 1, `bucket-${bucket}`, cost, limit, WINDOW_MS, nowMs);
          }
          const replies = await pipeline.exec();
          expect(replies?.map(([, reply]) => reply)).toEqual(expected);
        }),
      );
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });

  test('keeps working when the server’s clock is set back', async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    const script = `local now = tonumber(ARGV[4])\n${TAKE_AT_NOW}`;
    const take = (nowMs: number) => redis.eval(script, 1, 'bucket', 1, 1, WINDOW_MS, nowMs);
    try {
      expect(await take(9_000_000)).toEqual([1, 1, WINDOW_MS, 0]);
      expect(await take(1_000_000)).toEqual([0, 1, WINDOW_MS, WINDOW_MS]);
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });
});
