import { z } from 'zod';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { templateIdOf } from '../../domain/template/template.ts';
import {
  STATS_DIMENSIONS,
  STATS_GRANULARITIES,
  STATS_METRICS,
  type StatsGranularity,
  type StatsMetric,
} from '../../projections/stats/metrics.ts';
import { STATS_BUCKETS_MAX, type Stats, type StatsRow } from '../../projections/stats/queries.ts';
import { visibleDomainId } from '../auth/authenticate.ts';
import { readYourWrites } from '../consistency.ts';
import { defineEndpoint, type RouteContext } from '../endpoint.ts';
import { timeSchema } from '../schemas/envelope.ts';
import { timeParameter, timeZone } from '../validation/fields.ts';

const count = z.number().int().optional();
const latency = z
  .strictObject({ p50: z.number(), p90: z.number(), p99: z.number() })
  .nullable()
  .describe('From acceptance or `scheduled_at` to delivery, in milliseconds; null: nothing was delivered.');

/** Each metric is optional: `metrics` may leave it out. */
const counts = Object.fromEntries(STATS_METRICS.map((name) => [name, count])) as Record<StatsMetric, typeof count>;

export const statsSchema = z
  .strictObject({
    object: z.literal('stats'),
    from: timeSchema(),
    to: timeSchema(),
    granularity: z.enum(STATS_GRANULARITIES),
    timezone: z.string(),
    totals: z.strictObject({ ...counts, latency_ms: latency }),
    data: z.array(
      z.strictObject({ start: timeSchema(), group: z.string().optional(), ...counts, latency_ms: latency }),
    ),
  })
  .meta({ id: 'Stats' });

export interface StatsAsked {
  readonly from: string;
  readonly to: string;
  readonly granularity: string;
  readonly timezone: string;
  readonly metrics: readonly StatsMetric[];
}

const serializeRow = (row: StatsRow, metrics: readonly StatsMetric[]): Readonly<Record<string, unknown>> => ({
  ...Object.fromEntries(metrics.map((name) => [name, row[name]])),
  latency_ms: row.latency,
});

export const serializeStats = ({ totals, data }: Stats, { metrics, ...asked }: StatsAsked) => ({
  object: 'stats' as const,
  ...asked,
  totals: serializeRow(totals, metrics),
  data: data.map(({ start, group, ...row }) => ({
    start,
    ...(group === undefined ? {} : { group }),
    ...serializeRow(row, metrics),
  })),
});

const HOUR_MS = 3_600_000;
const DAYS_DEFAULT = 30;
/** Length of the shortest bucket. */
const GRANULARITY_HOURS: Readonly<Record<StatsGranularity, number>> = { hour: 1, day: 23, week: 167, month: 671 };
const FILTER_CHARACTERS_MAX = 253;

const isMetric = (text: string): text is StatsMetric => (STATS_METRICS as readonly string[]).includes(text);

const filter = z.string().min(1).max(FILTER_CHARACTERS_MAX).optional().describe('Only counts with this value.');

const query = z.strictObject({
  from: timeParameter().optional().describe(`ISO 8601. Default: ${DAYS_DEFAULT} days before \`to\`.`),
  to: timeParameter().optional().describe('ISO 8601. Default: now.'),
  granularity: z.enum(STATS_GRANULARITIES).default('day').describe('Length of a bucket.'),
  timezone: timeZone().optional().describe('IANA time zone of the buckets. Default: as the organization has it.'),
  group_by: z.enum(STATS_DIMENSIONS).optional().describe('Separate counts for each value of this dimension.'),
  metrics: z
    .string()
    .refine((text) => text.split(',').every(isMetric), `must be a list, with commas, of ${STATS_METRICS.join(', ')}`)
    .transform((text) => text.split(',').filter(isMetric))
    .optional()
    .describe('Metrics, separated by commas. Default: all.'),
  domain: filter,
  stream: filter,
  api_key: filter,
  recipient_domain: filter,
  template: filter.describe('Counts only what was rendered from this template, by id or alias.'),
});
type Asked = z.output<typeof query>;

const refuse = (field: string, sentence: string): DomainError =>
  new DomainError('invalid_request', 'the request is invalid: see details', { details: { [field]: [sentence] } });

/** @throws {DomainError} if the range is empty or has too many buckets. */
const rangeOf = ({ from, to, granularity }: Asked, now: Date): { readonly from: string; readonly to: string } => {
  const end = to ?? now.toISOString();
  const start = from ?? new Date(Date.parse(end) - DAYS_DEFAULT * 24 * HOUR_MS).toISOString();
  const hours = (Date.parse(end) - Date.parse(start)) / HOUR_MS;
  if (hours <= 0) throw refuse('from', 'from must be before to');
  if (hours / GRANULARITY_HOURS[granularity] > STATS_BUCKETS_MAX) {
    throw refuse('granularity', `granularity must make at most ${STATS_BUCKETS_MAX} buckets of the range`);
  }
  return { from: start, to: end };
};

/** @throws {DomainError} `permission_missing` for a domain that the key may not see. */
const filtersOf = ({ domain, stream, api_key, recipient_domain, template: named }: Asked, caller: Caller) => {
  const own = visibleDomainId(caller);
  if (own !== null && domain !== undefined && domain !== own) {
    throw new DomainError('permission_missing', "API key lacks 'manage' permission: it sees its own domain only");
  }
  const template = named === undefined ? undefined : templateIdOf(caller.organizationId, named);
  const entries = Object.entries({ domain: own ?? domain, stream, api_key, recipient_domain, template });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
};

export const getStatsRoute = (route: RouteContext): void => {
  const { deps, auth } = route;
  defineEndpoint(
    route,
    'GET /v1/stats',
    { summary: 'Count recipients by outcome over time', query, answer: statsSchema },
    async ({ caller, query: asked }) => {
      const { granularity, timezone = auth.keyCache.settingsOf(caller.organizationId).timezone } = asked;
      const range = rangeOf(asked, deps.context.system.now());
      const where = filtersOf(asked, caller);
      await readYourWrites(deps, ['stats']);
      const stats = await deps.readModels.stats.query({
        organizationId: caller.organizationId,
        environment: caller.environment,
        granularity,
        timezone,
        where,
        ...range,
        groupBy: asked.group_by ?? null,
      });
      return serializeStats(stats, { ...range, granularity, timezone, metrics: asked.metrics ?? STATS_METRICS });
    },
  );
};
