/** Resolution of one per cent. Finer buckets take more memory, and no run is that steady. */
const STEP = Math.log(1.01);
const SHORTEST_MS = 0.001;
const LONGEST_MS = 1_000_000;
const BUCKETS = Math.ceil(Math.log(LONGEST_MS / SHORTEST_MS) / STEP);

/** Distribution of durations in constant memory. */
export interface Histogram {
  record(ms: number): void;
  /** The duration below which this share of all values lies; NaN if empty. */
  quantile(share: number): number;
}

export const createHistogram = (): Histogram => {
  const counts = new Uint32Array(BUCKETS);
  let count = 0;
  return {
    record: (ms) => {
      const bucket = Math.floor(Math.log(ms / SHORTEST_MS) / STEP);
      const inRange = Math.max(0, Math.min(BUCKETS - 1, bucket));
      counts[inRange] = (counts[inRange] ?? 0) + 1;
      count += 1;
    },
    quantile: (share) => {
      if (count === 0) return Number.NaN;
      const rank = Math.min(count - 1, Math.floor(count * share));
      let passed = 0;
      const bucket = counts.findIndex((inBucket) => {
        passed += inBucket;
        return passed > rank;
      });
      return SHORTEST_MS * Math.exp((bucket + 0.5) * STEP);
    },
  };
};
