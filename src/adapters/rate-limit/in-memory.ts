import type { RateLimiter, RateLimitResult } from '../../domain/kernel/rate-limits.ts';
import type { System } from '../../lib/async/async.ts';

/**
 * Cached buckets, 0.1 to 4 kB each. With fewer, a client that can invent buckets (addresses) evicts others, which then
 * start over; more is memory that a flood can fill.
 */
const BUCKETS_MAX = 20_000;

export interface BucketsOptions<Bucket> {
  readonly bucketsMax?: number | undefined;
  /** True if dropping the bucket loses nothing. */
  readonly isIdle: (bucket: Bucket, nowMs: number) => boolean;
}

export interface Buckets<Bucket> {
  get(name: string): Bucket | undefined;
  /** Makes it the most recently used, and evicts idle and excess buckets. */
  use(name: string, bucket: Bucket, nowMs: number): void;
}

/** A bounded map of buckets. Those that have been idle longest are evicted first. */
export const createBuckets = <Bucket>({
  bucketsMax = BUCKETS_MAX,
  isIdle,
}: BucketsOptions<Bucket>): Buckets<Bucket> => {
  const buckets = new Map<string, Bucket>();
  return {
    get: (name) => buckets.get(name),
    use: (name, bucket, nowMs) => {
      buckets.delete(name);
      buckets.set(name, bucket);
      for (const [oldest, known] of buckets) {
        if (!isIdle(known, nowMs) && buckets.size <= bucketsMax) return;
        buckets.delete(oldest);
      }
    },
  };
};

/**
 * A sliding window. At any moment, the takes of the last minute never cost more than the limit, and after an idle
 * minute the whole limit may be taken at once. A token bucket (or GCRA) would allow nearly twice the limit in the
 * minute that begins with a full bucket, and would reject the 101st request of a hundred a minute or not depending on
 * how long the first hundred took. Here it is always rejected, and `remaining` only falls until a minute has passed.
 *
 * Takes close together are stored as one run that lasts until its last take has left the window. A bucket then needs at
 * most 61 runs instead of one entry per take, and frees capacity up to one sixtieth of the window late, never early.
 */
export interface Run {
  readonly firstMs: number;
  lastMs: number;
  cost: number;
}

export const WINDOW_MS = 60_000;

/** Runs are a sixtieth of the window long. More would be more exact but cost memory, fewer free capacity later. */
export const RUNS_PER_WINDOW = 60;

/** A request to a bucket. */
export interface Take {
  readonly cost: number;
  readonly limit: number;
  /** Whole milliseconds. */
  readonly nowMs: number;
  readonly windowMs: number;
}

/** Result of a take, in units that both adapters share. The Redis script returns these four values. */
export interface TakeResult {
  readonly allowed: boolean;
  /** Cost in the window, this take included. */
  readonly used: number;
  readonly resetMs: number;
  readonly retryAfterMs: number;
}

const remember = (runs: Run[], { cost, nowMs, windowMs }: Take): void => {
  const newest = runs.at(-1);
  if (newest === undefined || nowMs - newest.firstMs >= windowMs / RUNS_PER_WINDOW) {
    runs.push({ firstMs: nowMs, lastMs: nowMs, cost });
  } else {
    newest.lastMs = nowMs;
    newest.cost += cost;
  }
};

/** Time until enough runs have left the window, or until the last one leaves if even that is not enough. */
const retryAfterMs = (runs: readonly Run[], used: number, { cost, limit, nowMs, windowMs }: Take): number => {
  let free = limit - used;
  let endMs = nowMs;
  for (const run of runs) {
    free += run.cost;
    endMs = run.lastMs + windowMs;
    if (free >= cost) break;
  }
  return Math.max(endMs - nowMs, 1);
};

const isInWindow = ({ lastMs }: Run, { nowMs, windowMs }: Take): boolean => lastMs + windowMs > nowMs;

const costOf = (runs: readonly Run[]): number => {
  let cost = 0;
  for (const run of runs) cost += run.cost;
  return cost;
};

const byTime = (one: Run, other: Run): number => one.lastMs - other.lastMs;

/**
 * Takes from a bucket, all or nothing. `runs` has the local takes, oldest first, and is changed.
 * @param elsewhere runs of other processes that also count, in any order.
 */
export const takeFrom = (runs: Run[], take: Take, elsewhere: readonly Run[] = []): TakeResult => {
  const { cost, limit, nowMs, windowMs } = take;
  while (runs[0] !== undefined && !isInWindow(runs[0], take)) runs.shift();
  const others = elsewhere.filter((run) => isInWindow(run, take));
  const before = costOf(runs) + costOf(others);
  const allowed = before + cost <= limit;
  if (allowed && cost > 0) remember(runs, take);
  const all = others.length === 0 ? runs : [...runs, ...others].sort(byTime);
  return {
    allowed,
    used: allowed ? before + cost : before,
    resetMs: (all.at(-1)?.lastMs ?? nowMs - windowMs) + windowMs - nowMs,
    retryAfterMs: allowed ? 0 : retryAfterMs(all, before, take),
  };
};

export const resultOf = ({ allowed, used, resetMs, retryAfterMs }: TakeResult, limit: number): RateLimitResult => ({
  allowed,
  limit,
  remaining: Math.max(limit - used, 0),
  resetSeconds: Math.ceil(resetMs / 1_000),
  retryAfterSeconds: Math.ceil(retryAfterMs / 1_000),
});

/** Counts within this process. The counts do not survive a restart. */
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
