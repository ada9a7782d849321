/**
 * Buckets remembered, of 0.1 to 4 kB each. Fewer let someone who can invent buckets (addresses) push others out, who
 * then start afresh; more is memory that a flood can fill.
 */
const BUCKETS_MAX = 20_000;

export interface BucketsOptions<Bucket> {
  readonly bucketsMax?: number | undefined;
  /** Whether nothing is lost with it. */
  readonly isIdle: (bucket: Bucket, nowMs: number) => boolean;
  /** Told of what was pushed out or forgotten. */
  readonly onForgotten?: (name: string, bucket: Bucket) => void;
}

export interface Buckets<Bucket> {
  get(name: string): Bucket | undefined;
  /** Makes it the last used, and forgets whoever is idle or too many. */
  use(name: string, bucket: Bucket, nowMs: number): void;
  forget(name: string): void;
  /** Whoever has been idle longest first. */
  all(): Iterable<readonly [string, Bucket]>;
}

/** What is known by bucket, bounded: whoever has been idle longest goes first. */
export const createBuckets = <Bucket>(options: BucketsOptions<Bucket>): Buckets<Bucket> => {
  const { bucketsMax = BUCKETS_MAX, isIdle, onForgotten } = options;
  const buckets = new Map<string, Bucket>();

  const forgetIdle = (nowMs: number): void => {
    for (const [name, bucket] of buckets) {
      if (!isIdle(bucket, nowMs) && buckets.size <= bucketsMax) return;
      buckets.delete(name);
      onForgotten?.(name, bucket);
    }
  };

  return {
    get: (name) => buckets.get(name),
    use: (name, bucket, nowMs) => {
      buckets.delete(name);
      buckets.set(name, bucket);
      forgetIdle(nowMs);
    },
    forget: (name) => {
      buckets.delete(name);
    },
    all: () => buckets,
  };
};
