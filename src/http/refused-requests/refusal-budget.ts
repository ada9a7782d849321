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
/** Limit for all organizations together. Higher: a flood takes the event loop. Lower: some organizations are not served. */
const OF_ALL: Rate = { capacity: 50, perMs: 25 / SECOND_MS };
/**
 * How quickly an organization's use of the limit for all is forgotten: until then it leaves as much to others as it took.
 * Faster: a few that flood leave nothing. Slower: a test suite that comes back soon is only counted.
 */
const LATELY: Rate = { capacity: 50, perMs: 0.5 / SECOND_MS };
/** An evicted organization starts again with a full bucket. */
const ORGANIZATIONS_MAX = 10_000;

interface Bucket {
  /** Tokens that are left. */
  left(nowMs: number): number;
  take(): void;
}

interface OrganizationBuckets {
  readonly inASecond: Bucket;
  readonly inADay: Bucket;
  readonly lately: Bucket;
}

const createBucket = ({ capacity, perMs }: Rate, nowMs: number): Bucket => {
  let tokens = capacity;
  let filledMs = nowMs;
  return {
    left: (atMs) => {
      tokens = Math.min(capacity, tokens + (atMs - filledMs) * perMs);
      filledMs = atMs;
      return tokens;
    },
    take: () => {
      tokens -= 1;
    },
  };
};

export const createRefusalBudget = (system: Pick<System, 'monotonicMs'>): RefusalBudget => {
  const all = createBucket(OF_ALL, system.monotonicMs());
  const organizations = new LRUCache<string, OrganizationBuckets>({ max: ORGANIZATIONS_MAX });

  const bucketsOf = (organizationId: string, nowMs: number): OrganizationBuckets => {
    const buckets = organizations.get(organizationId) ?? {
      inASecond: createBucket(IN_A_SECOND, nowMs),
      inADay: createBucket(IN_A_DAY, nowMs),
      lately: createBucket(LATELY, nowMs),
    };
    organizations.set(organizationId, buckets);
    return buckets;
  };

  return {
    take: (organizationId) => {
      const nowMs = system.monotonicMs();
      const { inASecond, inADay, lately } = bucketsOf(organizationId, nowMs);
      if (inASecond.left(nowMs) < 1 || inADay.left(nowMs) < 1) return false;
      const took = LATELY.capacity - lately.left(nowMs);
      if (all.left(nowMs) < 1 + took) return false;
      for (const bucket of [inASecond, inADay, lately, all]) bucket.take();
      return true;
    },
  };
};
