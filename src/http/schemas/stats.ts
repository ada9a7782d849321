import { z } from 'zod';
import {
  STATS_ATTRIBUTIONS,
  STATS_GRANULARITIES,
  STATS_METRICS,
  STATS_RATES,
  type StatsAttribution,
  type StatsDimension,
  type StatsMetric,
  type StatsRate,
} from '../../projections/stats/metrics.ts';
import type { PeriodStats, Stats, StatsRow } from '../../projections/stats/queries.ts';
import { writeCsv } from '../csv.ts';
import { timeSchema } from './envelope.ts';

const count = z.number().int().optional();
const latency = z
  .strictObject({ p50: z.number(), p90: z.number(), p99: z.number() })
  .nullable()
  .describe('From acceptance or `scheduled_at` to delivery, in milliseconds; null: nothing was delivered.');

/** Each metric is optional: `metrics` may leave it out. */
const counts = Object.fromEntries(STATS_METRICS.map((name) => [name, count])) as Record<StatsMetric, typeof count>;

const RATES = Object.keys(STATS_RATES) as StatsRate[]; // its very names
const rate = (name: StatsRate) =>
  z
    .number()
    .nullable()
    .optional()
    .describe(`\`${name}\` as a share of \`${STATS_RATES[name]}\`; null: the latter is 0.`);
const rates = z
  .strictObject(
    Object.fromEntries(RATES.map((name) => [name, rate(name)])) as Record<StatsRate, ReturnType<typeof rate>>,
  )
  .describe('Values of the requested metrics.');

const row = { ...counts, rates, latency_ms: latency };

const group = z
  .union([z.string(), z.record(z.string(), z.string())])
  .optional()
  .describe('Value of the `group_by` dimension, or both values by name. `(other)`: all remaining groups together.');

const period = {
  from: timeSchema(),
  to: timeSchema(),
  totals: z.strictObject(row),
  data: z.array(z.strictObject({ start: timeSchema(), group, ...row })),
  groups: z
    .array(z.strictObject({ group, ...row }))
    .optional()
    .describe('With `group_by`: each group over the whole period, largest number of accepted recipients first.'),
};

export const statsSchema = z
  .strictObject({
    object: z.literal('stats'),
    ...period,
    granularity: z.enum(STATS_GRANULARITIES),
    timezone: z.string(),
    attribution: z.enum(STATS_ATTRIBUTIONS),
    complete_until: timeSchema().describe(
      'Time of the newest event counted. Everything recorded until then is included.',
    ),
    previous: z.strictObject(period).optional().describe('The period before, with `compare=previous`.'),
  })
  .meta({ id: 'Stats' });

export interface StatsRequest {
  readonly granularity: string;
  readonly timezone: string;
  readonly attribution: StatsAttribution;
  readonly groupBy: readonly StatsDimension[];
  readonly metrics: readonly StatsMetric[];
  /** ISO 8601. */
  readonly completeUntil: string;
}

/** 0.9873, to within a millionth. */
const RATE_DIGITS = 6;

const ratesOf = (row: StatsRow, metrics: readonly StatsMetric[]): readonly (readonly [StatsRate, number | null])[] =>
  RATES.filter((name) => metrics.includes(name)).map((name) => {
    const of = row[STATS_RATES[name]];
    return [name, of === 0 ? null : Number((row[name] / of).toFixed(RATE_DIGITS))];
  });

const serializeRow = (row: StatsRow, metrics: readonly StatsMetric[]): Readonly<Record<string, unknown>> => ({
  ...Object.fromEntries(metrics.map((name) => [name, row[name]])),
  rates: Object.fromEntries(ratesOf(row, metrics)),
  latency_ms: row.latency,
});

/** Values of the dimensions, by name. */
const named = (groups: readonly string[], groupBy: readonly StatsDimension[]): Readonly<Record<string, string>> =>
  Object.fromEntries(groupBy.map((dimension, index) => [dimension, groups[index] ?? '']));

const serializeGroup = (groups: readonly string[], groupBy: readonly StatsDimension[]) => {
  if (groups.length === 0) return {};
  return { group: groups.length === 1 ? groups[0] : named(groups, groupBy) };
};

const serializePeriod = ({ from, to, totals, data, groups: all }: PeriodStats, { metrics, groupBy }: StatsRequest) => ({
  from,
  to,
  totals: serializeRow(totals, metrics),
  data: data.map(({ start, groups, ...row }) => ({
    start,
    ...serializeGroup(groups, groupBy),
    ...serializeRow(row, metrics),
  })),
  ...(groupBy.length > 0 && {
    groups: all.map(({ groups, ...row }) => ({ ...serializeGroup(groups, groupBy), ...serializeRow(row, metrics) })),
  }),
});

export const serializeStats = (stats: Stats, asked: StatsRequest) => ({
  object: 'stats' as const,
  ...serializePeriod(stats, asked),
  granularity: asked.granularity,
  timezone: asked.timezone,
  attribution: asked.attribution,
  complete_until: asked.completeUntil,
  ...(stats.previous === undefined ? {} : { previous: serializePeriod(stats.previous, asked) }),
});

/** Media types of a table: a row for each bucket and group. */
export const STATS_TABLES = ['text/csv', 'application/x-ndjson'] as const;
export type StatsTable = (typeof STATS_TABLES)[number];

/** Rows that are written in one turn of the event loop: some milliseconds. */
const CHUNK_ROWS = 500;

/** A flat row; the same columns in each. */
const tableRow = (
  { start, groups, ...row }: Stats['data'][number],
  { groupBy, metrics }: StatsRequest,
): Readonly<Record<string, string | number | null>> => ({
  start,
  ...named(groups, groupBy),
  ...Object.fromEntries(metrics.map((name) => [name, row[name]])),
  ...Object.fromEntries(ratesOf(row, metrics).map(([name, value]) => [`${name}_rate`, value])),
  latency_p50_ms: row.latency?.p50 ?? null,
  latency_p90_ms: row.latency?.p90 ?? null,
  latency_p99_ms: row.latency?.p99 ?? null,
});

/** The buckets as CSV (RFC 4180) with a header, or as one JSON object a line; in chunks. */
export async function* tableOf(type: StatsTable, { data }: Stats, asked: StatsRequest): AsyncGenerator<string> {
  const [first] = data;
  if (type === 'text/csv' && first !== undefined) yield writeCsv([Object.keys(tableRow(first, asked))]);
  for (let at = 0; at < data.length; at += CHUNK_ROWS) {
    const rows = data.slice(at, at + CHUNK_ROWS).map((row) => tableRow(row, asked));
    yield type === 'text/csv'
      ? writeCsv(rows.map((row) => Object.values(row)))
      : rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
