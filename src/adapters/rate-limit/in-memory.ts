import type { System } from '../../domain/ports/system.ts';
import type { RateLimiter } from '../../domain/rate-limits.ts';
import { createBuckets } from './buckets.ts';
import { type Run, resultOf, takeFrom, WINDOW_MS } from './sliding-window.ts';

/** Counts within this process; nothing survives it. */
export const createInMemoryRateLimiter = (options: {
  readonly system: System;
  readonly windowMs?: number;
  readonly bucketsMax?: number;
}): RateLimiter => {
  const { system, windowMs = WINDOW_MS, bucketsMax } = options;
  const buckets = createBuckets<Run[]>({
    bucketsMax,
    isIdle: (runs, nowMs) => (runs.at(-1)?.lastMs ?? 0) + windowMs <= nowMs,
  });

  return {
    take: async (bucket, cost, limit) => {
      const nowMs = Math.floor(system.monotonicMs()); // whole milliseconds add up exactly
      const runs = buckets.get(bucket) ?? [];
      const taken = takeFrom(runs, { cost, limit, nowMs, windowMs });
      if (taken.allowed && cost > 0) buckets.use(bucket, runs, nowMs);
      return resultOf(taken, limit);
    },
    close: async () => undefined,
  };
};
