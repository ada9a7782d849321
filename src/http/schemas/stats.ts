import { z } from 'zod';
import { STATS_GRANULARITIES, STATS_METRICS, type StatsMetric } from '../../projections/stats/metrics.ts';
import type { Stats, StatsRow } from '../../projections/stats/queries.ts';
import { timeShape } from './time.ts';

const count = z.number().int().optional();
const latency = z
  .strictObject({ p50: z.number(), p90: z.number(), p99: z.number() })
  .nullable()
  .describe('From acceptance, or from `scheduled_at`, to delivery, in milliseconds; null where nothing was delivered.');

/** A metric is there unless `metrics` left it out. */
const counts = Object.fromEntries(STATS_METRICS.map((name) => [name, count])) as Record<StatsMetric, typeof count>;

export const statsShape = z.strictObject({
  object: z.literal('stats'),
  from: timeShape(),
  to: timeShape(),
  granularity: z.enum(STATS_GRANULARITIES),
  timezone: z.string(),
  totals: z.strictObject({ ...counts, latency_ms: latency }),
  data: z.array(z.strictObject({ start: timeShape(), group: z.string().optional(), ...counts, latency_ms: latency })),
});

export interface StatsAsked {
  readonly from: string;
  readonly to: string;
  readonly granularity: string;
  readonly timezone: string;
  readonly metrics: readonly StatsMetric[];
}

const showRow = (row: StatsRow, metrics: readonly StatsMetric[]): Readonly<Record<string, unknown>> => ({
  ...Object.fromEntries(metrics.map((name) => [name, row[name]])),
  latency_ms: row.latency,
});

export const showStats = ({ totals, data }: Stats, { metrics, ...asked }: StatsAsked) => ({
  object: 'stats' as const,
  ...asked,
  totals: showRow(totals, metrics),
  data: data.map(({ start, group, ...row }) => ({
    start,
    ...(group === undefined ? {} : { group }),
    ...showRow(row, metrics),
  })),
});
