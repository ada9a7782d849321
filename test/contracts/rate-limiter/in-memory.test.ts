import { describe, expect, test } from 'vitest';
import { createInMemoryRateLimiter } from '../../../src/adapters/rate-limit/in-memory.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import type { System } from '../../../src/lib/async/async.ts';
import { describeRateLimiter } from './contract.ts';

describeRateLimiter('in memory', async () => ({
  open: async (windowMs) =>
    createInMemoryRateLimiter({ system: createSystem(), ...(windowMs === undefined ? {} : { windowMs }) }),
  stop: async () => undefined,
}));

/** A limiter with a clock that the test advances. */
const openWithClock = (bucketsMax?: number) => {
  let nowMs = 1_000_000;
  const system: System = { ...createSystem(), monotonicMs: () => nowMs };
  const limiter = createInMemoryRateLimiter({ system, ...(bucketsMax === undefined ? {} : { bucketsMax }) });
  return {
    limiter,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
};

describe('a rate limiter in memory', () => {
  test('returns a cost one minute after it was consumed, not before', async () => {
    const { limiter, pass } = openWithClock();
    await limiter.take('key', 40, 100);
    pass(30_000);
    await limiter.take('key', 60, 100);
    pass(29_999);
    expect(await limiter.take('key', 1, 100)).toMatchObject({ allowed: false, retryAfterSeconds: 1, resetSeconds: 31 });
    expect(await limiter.take('key', 41, 100)).toMatchObject({ allowed: false, retryAfterSeconds: 31 });
    pass(1);
    expect(await limiter.take('key', 40, 100)).toMatchObject({ allowed: true, remaining: 0, resetSeconds: 60 });
  });

  test('forgets buckets that have been idle for a minute', async () => {
    const { limiter, pass } = openWithClock(3);
    for (const bucket of ['a', 'b', 'c']) await limiter.take(bucket, 1, 1);
    pass(60_000);
    for (const bucket of ['d', 'e', 'f']) await limiter.take(bucket, 1, 1);
    for (const bucket of ['d', 'e', 'f']) expect((await limiter.take(bucket, 1, 1)).allowed).toBe(false);
  });

  test('holds a limited number of buckets, and resets the one idle for longest', async () => {
    const { limiter } = openWithClock(3);
    for (const bucket of ['a', 'b', 'c']) await limiter.take(bucket, 1, 2);
    await limiter.take('a', 1, 2);
    await limiter.take('d', 1, 2);
    expect((await limiter.take('a', 1, 2)).allowed).toBe(false);
    expect(await limiter.take('b', 0, 2)).toMatchObject({ remaining: 2 });
    expect(await limiter.take('c', 0, 2)).toMatchObject({ remaining: 1 });
  });
});
