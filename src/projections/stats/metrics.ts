/** Recipients, each counted where it was accepted. `deferred`: at least once, whatever became of it. */
export const STATS_METRICS = [
  'accepted',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'expired',
  'suppressed',
  'cancelled',
  'complained',
  'unsubscribed',
] as const;
export type StatsMetric = (typeof STATS_METRICS)[number];

export const STATS_GRANULARITIES = ['hour', 'day', 'week', 'month'] as const;
export type StatsGranularity = (typeof STATS_GRANULARITIES)[number];

export const STATS_DIMENSIONS = ['domain', 'stream', 'api_key', 'recipient_domain', 'environment'] as const;
export type StatsDimension = (typeof STATS_DIMENSIONS)[number];
