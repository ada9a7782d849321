import { LRUCache } from 'lru-cache';
import type { System } from '../../lib/async/async.ts';

/**
 * Limits how many refused requests of an organization this process records with their bodies: enough for requests made by
 * hand or by tests, but not a row for each request of a flood. Requests above the limit are counted.
 */
export interface RefusalBudget {
  /** @returns false: it is beyond the budget. */
  take(organizationId: string): boolean;
}

/** A token bucket. */
interface Rate {
  readonly capacity: number;
  readonly perMs: number;
}

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;
/** Each takes some milliseconds of the event loop at most. */
const IN_A_SECOND: Rate = { capacity: 20, perMs: 5 / SECOND_MS };
/** Some 10 MB a day for each organization. */
const IN_A_DAY: Rate = { capacity: 2_000, perMs: 2_000 / DAY_MS };
/** Limit for all organizations together. */
const OF_ALL: Rate = { capacity: 50, perMs: 25 / SECOND_MS };
/** An evicted organization starts again with a full bucket. */
const ORGANIZATIONS_MAX = 10_000;

interface Bucket {
  has(nowMs: number): boolean;
  take(): void;
}

const createBucket = ({ capacity, perMs }: Rate, nowMs: number): Bucket => {
  let tokens = capacity;
  let filledMs = nowMs;
  return {
    has: (atMs) => {
      tokens = Math.min(capacity, tokens + (atMs - filledMs) * perMs);
      filledMs = atMs;
      return tokens >= 1;
    },
    take: () => {
      tokens -= 1;
    },
  };
};

export const createRefusalBudget = (system: Pick<System, 'monotonicMs'>): RefusalBudget => {
  const all = createBucket(OF_ALL, system.monotonicMs());
  const organizations = new LRUCache<string, readonly Bucket[]>({ max: ORGANIZATIONS_MAX });

  const bucketsOf = (organizationId: string, nowMs: number): readonly Bucket[] => {
    const found = organizations.get(organizationId) ?? [
      createBucket(IN_A_SECOND, nowMs),
      createBucket(IN_A_DAY, nowMs),
      all,
    ];
    organizations.set(organizationId, found);
    return found;
  };

  return {
    take: (organizationId) => {
      const nowMs = system.monotonicMs();
      const buckets = bucketsOf(organizationId, nowMs);
      if (!buckets.every((bucket) => bucket.has(nowMs))) return false;
      for (const bucket of buckets) bucket.take();
      return true;
    },
  };
};
