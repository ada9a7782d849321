import type { RateLimiter } from '../../domain/rate-limits.ts';
import type { System } from '../../domain/system.ts';
import { type Run, resultOf, takeFrom, WINDOW_MS } from './sliding-window.ts';

/**
 * Buckets remembered, of 0.1 to 4 kB each. Fewer let someone who can invent buckets (addresses) push others out, who
 * then start afresh; more is memory that a flood can fill.
 */
const BUCKETS_MAX = 20_000;

/** Counts within this process; nothing survives it. */
export const createInMemoryRateLimiter = (options: {
  readonly system: System;
  readonly windowMs?: number;
  readonly bucketsMax?: number;
}): RateLimiter => {
  const { system, windowMs = WINDOW_MS, bucketsMax = BUCKETS_MAX } = options;
  /** In the order of their last take: whoever has been idle longest stands first. */
  const buckets = new Map<string, Run[]>();

  const forgetIdle = (nowMs: number): void => {
    for (const [bucket, runs] of buckets) {
      const isIdle = (runs.at(-1)?.lastMs ?? 0) + windowMs <= nowMs;
      if (!isIdle && buckets.size <= bucketsMax) return;
      buckets.delete(bucket);
    }
  };

  return {
    take: async (bucket, cost, limit) => {
      const nowMs = Math.floor(system.monotonicMs()); // whole milliseconds add up exactly
      const runs = buckets.get(bucket) ?? [];
      const taken = takeFrom(runs, { cost, limit, nowMs, windowMs });
      if (taken.allowed && cost > 0) {
        buckets.delete(bucket);
        buckets.set(bucket, runs);
        forgetIdle(nowMs);
      }
      return resultOf(taken, limit);
    },
    close: async () => undefined,
  };
};
