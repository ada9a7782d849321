/**
 * Recipients, each counted once. `deferred`: at least once, whatever became of it. `opened` and `clicked`
 * are people, and `opens` and `clicks` how often they did it; `machine_…` are recipients of mail that machines opened.
 */
export const STATS_METRICS = [
  'accepted',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'expired',
  'suppressed',
  'cancelled',
  'opened',
  'opens',
  'clicked',
  'clicks',
  'machine_opened',
  'machine_clicked',
  'complained',
  'unsubscribed',
] as const;
export type StatsMetric = (typeof STATS_METRICS)[number];

export const STATS_GRANULARITIES = ['hour', 'day', 'week', 'month'] as const;
export type StatsGranularity = (typeof STATS_GRANULARITIES)[number];

export const STATS_DIMENSIONS = [
  'domain',
  'stream',
  'template',
  'template_version',
  'api_key',
  'recipient_domain',
  'mailbox_provider',
  'bounce_class',
  'environment',
] as const;
export type StatsDimension = (typeof STATS_DIMENSIONS)[number];

/** By the time a message was accepted, or by the time of what became of its recipients. */
export const STATS_ATTRIBUTIONS = ['cohort', 'event'] as const;
export type StatsAttribution = (typeof STATS_ATTRIBUTIONS)[number];

/** Metrics as a share of another one. */
export const STATS_RATES = {
  delivered: 'accepted',
  deferred: 'accepted',
  bounced: 'accepted',
  opened: 'delivered',
  clicked: 'delivered',
  complained: 'delivered',
  unsubscribed: 'delivered',
} as const satisfies Partial<Record<StatsMetric, StatsMetric>>;
export type StatsRate = keyof typeof STATS_RATES;

/**
 * Times from acceptance to delivery, counted by bin on a log scale: bin n holds times around 2^(n/4) ms, so that any
 * time from 1 ms to months is known to within 10 %, in at most `BINS_MAX` small numbers that can be added up.
 */

const BINS_PER_OCTAVE = 4;
/** 2^(159/4) ms is about 29 years: what lies beyond is in the last bin. */
const BINS_MAX = 160;

/** @returns zero-based. */
export const binOf = (milliseconds: number): number =>
  Math.min(BINS_MAX - 1, Math.max(0, Math.round(Math.log2(Math.max(1, milliseconds)) * BINS_PER_OCTAVE)));

/** Milliseconds. */
export interface LatencyPercentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** How many times fell into a bin. */
export interface Bin {
  readonly bin: number;
  readonly count: number;
}

/** @param bins in ascending order. @returns null where nothing was counted. */
export const percentilesOf = (bins: readonly Bin[]): LatencyPercentiles | null => {
  const total = bins.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  const at = (share: number): number => {
    let seen = 0;
    const reached = bins.find(({ count }) => {
      seen += count;
      return seen >= total * share;
    });
    return Math.round(2 ** ((reached?.bin ?? 0) / BINS_PER_OCTAVE));
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
};
