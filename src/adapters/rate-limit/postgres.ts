import type { Pool } from 'pg';
import type { Logger } from '../../domain/logger.ts';
import type { RateLimiter, RateLimitResult } from '../../domain/rate-limits.ts';
import type { System } from '../../domain/system.ts';
import { createBuckets } from './buckets.ts';
import { createExchangeStatements } from './exchange-statement.ts';
import { createExchanges } from './exchanges.ts';
import {
  allowanceOf,
  changeLimit,
  evenPart,
  type Facts,
  isForgettable,
  newSlice,
  noteLack,
  type Slice,
  takeFromSlice,
} from './slice.ts';
import { resultOf, type Taken, takeFrom, WINDOW_MS } from './sliding-window.ts';

/**
 * How long after its last exchange a process takes from its shares. Shorter gives them up for a pause of the database,
 * longer keeps a dead process' shares from the others.
 */
const LEASE_MS = 5_000;

/** A request waits this long at most for a share. Shorter falls back for a hiccup, longer is felt by everybody. */
const PATIENCE_MS = 50;

/** What was told of a bucket is believed so long: each half second a bucket that lacks something is asked about. */
const TOLD_MS = 1_000;

/** At the start, how long to wait for a process that was alone to hear of this one. A dead one costs a start as much. */
const SETTLING_MS = 1_500;
const SETTLING_STEP_MS = 50;

export interface PostgresRateLimiterOptions {
  /** Of its own: exchanges must not wait for other work. */
  readonly pool: Pool;
  readonly system: System;
  readonly logger: Logger;
  readonly windowMs?: number;
  readonly leaseMs?: number;
  readonly patienceMs?: number;
  readonly bucketsMax?: number;
}

interface Attempt {
  readonly facts: Facts;
  readonly taken: Taken;
  /** What this process may still take. */
  readonly unspent: number;
}

/** When it may be tried again: when enough of its own, or the first of the others', comes back. */
const retryMs = (slice: Slice, cost: number, { taken, facts }: Attempt): number => {
  if (taken.allowed) return 0;
  if (cost > slice.limit) return taken.retryAfterMs;
  const own = slice.runs.length > 0 ? taken.retryAfterMs : facts.windowMs;
  const others = slice.othersFreeMs === null ? facts.windowMs : Math.max(slice.othersFreeMs - facts.nowMs, 1);
  return Math.min(own, others);
};

const told = (slice: Slice, cost: number, attempt: Attempt): RateLimitResult => {
  const { taken, unspent } = attempt;
  const { limit, runs, free } = slice;
  const retryAfterMs = retryMs(slice, cost, attempt);
  const isTakenByOthers = runs.length === 0 && cost <= limit;
  const resetMs = isTakenByOthers ? retryAfterMs : taken.resetMs;
  return resultOf({ ...taken, used: limit - Math.min(unspent + free, limit), resetMs, retryAfterMs }, limit);
};

/** Whether an exchange may change the answer. Who only looks waits for one where nothing is known at all. */
const isWorthAsking = (slice: Slice, cost: number, { taken, unspent, facts }: Attempt): boolean => {
  if (slice.toldMs === Number.NEGATIVE_INFINITY) return cost === 0 || !taken.allowed;
  if (taken.allowed || cost === 0 || cost > slice.limit) return false;
  return facts.nowMs - slice.toldMs >= TOLD_MS || unspent + slice.free >= cost;
};

/** Counts each key's limit for all processes together, on slices that PostgreSQL gave each of them ahead of time. */
export const createPostgresRateLimiter = async (options: PostgresRateLimiterOptions): Promise<RateLimiter> => {
  const { pool, system, logger, windowMs = WINDOW_MS, leaseMs = LEASE_MS, patienceMs = PATIENCE_MS } = options;
  const buckets = createBuckets<Slice>({
    bucketsMax: options.bucketsMax,
    isIdle: (slice, nowMs) => isForgettable(slice, nowMs, windowMs),
    onForgotten: (name, slice) => exchanges.drop(name, slice),
  });
  const statements = createExchangeStatements({ pool, processId: system.uuid(), leaseMs, windowMs });
  const exchanges = createExchanges({ statements, buckets, system, logger, windowMs, leaseMs, patienceMs });
  const now = (): number => Math.floor(system.monotonicMs()); // whole milliseconds add up exactly

  /** Nothing has been told of it, nor will be soon; or nothing is told of any bucket. */
  const isLeftAlone = (slice: Slice, nowMs: number): boolean =>
    exchanges.isAway(nowMs) || (slice.toldMs === Number.NEGATIVE_INFINITY && !exchanges.isGranting());

  /** Whoever was stopped for longer than its lease asks again before it takes anything. */
  const allowanceLapsed = (even: number): number => (exchanges.isGranting() ? 0 : even);

  /** Where no share can be had, at least an even part: a key is neither shut out nor let in without end. */
  const allowance = (slice: Slice, { nowMs, members }: Facts): number => {
    if (exchanges.isAlone()) return slice.limit;
    const even = evenPart(slice.limit, members);
    if (exchanges.isLapsed(nowMs)) return allowanceLapsed(even);
    const own = allowanceOf(slice, nowMs);
    return isLeftAlone(slice, nowMs) ? Math.max(own, even) : own;
  };

  const attempt = (slice: Slice, cost: number): Attempt => {
    const facts = exchanges.factsAt(now());
    const allowed = allowance(slice, facts);
    const taken = takeFromSlice(slice, cost, allowed, facts);
    return { facts, taken, unspent: Math.max(allowed - taken.used, 0) };
  };

  const afterwards = (bucket: string, slice: Slice, cost: number, last: Attempt): RateLimitResult => {
    const { taken, unspent } = last;
    if (!taken.allowed && cost <= slice.limit) noteLack(slice, cost);
    if (taken.allowed && cost > 0 && slice.free > 0 && unspent < slice.lowWater && exchanges.isGranting()) {
      slice.isAhead = true;
      exchanges.note(bucket);
    }
    return told(slice, cost, last);
  };

  const sliceOf = (bucket: string, limit: number): Slice => {
    const slice = buckets.get(bucket) ?? newSlice(limit);
    if (slice.limit !== limit) {
      changeLimit(slice, limit);
      exchanges.note(bucket);
    }
    slice.triedMs = now();
    buckets.use(bucket, slice, slice.triedMs);
    return slice;
  };

  const ask = async (bucket: string, slice: Slice, cost: number): Promise<void> => {
    if (cost > 0 && cost <= slice.limit) {
      noteLack(slice, cost);
      slice.isAhead = true;
    }
    await exchanges.ask(bucket, slice);
  };

  const takeShared = async (bucket: string, cost: number, limit: number): Promise<RateLimitResult> => {
    const slice = sliceOf(bucket, limit);
    const first = attempt(slice, cost);
    if (!exchanges.isGranting() || !isWorthAsking(slice, cost, first)) return afterwards(bucket, slice, cost, first);
    await ask(bucket, slice, cost);
    return afterwards(bucket, slice, cost, attempt(slice, cost));
  };

  const takeAlone = (bucket: string, cost: number, limit: number): RateLimitResult => {
    const nowMs = now();
    const slice = buckets.get(bucket) ?? newSlice(limit);
    slice.limit = limit;
    slice.triedMs = nowMs;
    const taken = takeFrom(slice.runs, { cost, limit, nowMs, windowMs });
    if (taken.allowed && cost > 0) buckets.use(bucket, slice, nowMs);
    return resultOf(taken, limit);
  };

  const settlingUntilMs = now() + SETTLING_MS;
  await Promise.race([exchanges.exchange(), system.sleep(SETTLING_MS)]);
  while (exchanges.isBlocked() && now() < settlingUntilMs) {
    await system.sleep(SETTLING_STEP_MS);
    await exchanges.exchange();
  }

  return {
    take: async (bucket, cost, limit) =>
      exchanges.isAlone() ? takeAlone(bucket, cost, limit) : takeShared(bucket, cost, limit),
    close: exchanges.close,
  };
};
