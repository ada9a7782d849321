/**
 * Buckets remembered, of 0.1 to 4 kB each. Fewer let someone who can invent buckets (addresses) push others out, which
 * then start afresh; more is memory that a flood can fill.
 */
const BUCKETS_MAX = 20_000;

export interface BucketsOptions<Bucket> {
  readonly bucketsMax?: number | undefined;
  /** Whether nothing is lost with it. */
  readonly isIdle: (bucket: Bucket, nowMs: number) => boolean;
}

export interface Buckets<Bucket> {
  get(name: string): Bucket | undefined;
  /** Makes it the last used, and forgets those that are idle or too many. */
  use(name: string, bucket: Bucket, nowMs: number): void;
}

/** What is known by bucket, bounded: those that have been idle longest go first. */
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
