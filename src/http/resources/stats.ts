import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { organizationSecret } from '../../commands/organization.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { BOUNCE_CATEGORIES } from '../../domain/bounce/categories.ts';
import { keyedDigest } from '../../domain/kernel/digest.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { RATE_NAMES, RATES, type Rate, type RateDefinitions, rateOf } from '../../domain/message/rates.ts';
import { templateIdOf } from '../../domain/template/template.ts';
import { acceptedIn } from '../../lib/http/http.ts';
import {
  STATS_ATTRIBUTIONS,
  STATS_DIMENSIONS,
  STATS_GRANULARITIES,
  STATS_METRICS,
  type StatsAttribution,
  type StatsDimension,
  type StatsGranularity,
  type StatsMetric,
} from '../../projections/stats/metrics.ts';
import {
  areKept,
  type PeriodStats,
  type QueryStats,
  STATS_BUCKETS_MAX,
  type Stats,
  type StatsRow,
} from '../../projections/stats/queries.ts';
import { visibleDomainId } from '../auth/permissions.ts';
import { writeCsv } from '../csv.ts';
import { endpoint } from '../endpoint.ts';
import {
  idParameter,
  integerParameter,
  NO_TEMPLATE,
  recipientDomain,
  tagParameter,
  timeParameter,
  timeSchema,
  timeZone,
} from '../fields.ts';
import { readWhatIs } from '../reading.ts';
import { hasNames, namesIn, nameTags } from './stats-names.ts';

const count = z.number().int().optional();
const latency = z
  .strictObject({ p50: z.number(), p90: z.number(), p99: z.number() })
  .nullable()
  .describe('Milliseconds from acceptance, or from `scheduled_at`, to delivery. null: nothing was delivered.');

/** Each metric is optional: `metrics` may leave it out. */
const counts = Object.fromEntries(STATS_METRICS.map((name) => [name, count])) as Record<StatsMetric, typeof count>;

/** Denominator of each rate, for clients that name it next to the number. */
export type RateDenominators = RateDefinitions;

const rate = (name: Rate) =>
  z
    .number()
    .nullable()
    .optional()
    .describe(`\`${name}\` divided by \`${RATES[name]}\`. null: \`${RATES[name]}\` is 0.`);
const rates = z
  .strictObject(
    Object.fromEntries(RATE_NAMES.map((name) => [name, rate(name)])) as Record<Rate, ReturnType<typeof rate>>,
  )
  .describe('Values of the requested metrics.');

const row = { ...counts, rates, latency_ms: latency };

const group = z
  .union([z.string(), z.record(z.string(), z.string())])
  .optional()
  .describe(
    'Value of the `group_by` dimension, or an object with both values. `(other)`: all remaining groups together.',
  );

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

const statsSchema = z
  .strictObject({
    object: z.literal('stats'),
    ...period,
    granularity: z.enum(STATS_GRANULARITIES),
    timezone: z.string(),
    attribution: z.enum(STATS_ATTRIBUTIONS),
    complete_until: timeSchema().describe(
      'Time of the newest counted event. Everything recorded until then is included.',
    ),
    previous: z
      .strictObject(period)
      .optional()
      .describe('The same counts for the previous period. Present only with `compare=previous`.'),
  })
  .meta({ id: 'Stats' });
export type SerializedStats = z.infer<typeof statsSchema>;

interface StatsRequest {
  readonly granularity: string;
  readonly timezone: string;
  readonly attribution: StatsAttribution;
  readonly groupBy: readonly StatsDimension[];
  readonly metrics: readonly StatsMetric[];
  /** Names of ids that are values of dimensions, in a table only, and ids of tags. */
  readonly names: ReadonlyMap<string, string>;
  /** ISO 8601. */
  readonly completeUntil: string;
}

const ratesOf = (row: StatsRow, metrics: readonly StatsMetric[]): readonly (readonly [Rate, number | null])[] =>
  RATE_NAMES.filter((name) => metrics.includes(name)).map((name) => [name, rateOf(row, name)]);

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

const serializeStats = (stats: Stats, asked: StatsRequest) => ({
  object: 'stats' as const,
  ...serializePeriod(stats, asked),
  granularity: asked.granularity,
  timezone: asked.timezone,
  attribution: asked.attribution,
  complete_until: asked.completeUntil,
  ...(stats.previous === undefined ? {} : { previous: serializePeriod(stats.previous, asked) }),
});

/** Media types of a table: a row for each bucket and group. */
const STATS_TABLES = ['text/csv', 'application/x-ndjson'] as const;
type StatsTable = (typeof STATS_TABLES)[number];

/** Rows that are written in one turn of the event loop: some milliseconds. */
const CHUNK_ROWS = 500;

/** Column beside an id with its name, or beside a tag with its id in the views of analysts. */
const secondColumn = (dimension: StatsDimension): string => (dimension === 'tag' ? 'tag_id' : `${dimension}_name`);

/** A flat row; the same columns in each. */
const tableRow = (
  { start, groups, ...row }: Stats['data'][number],
  { groupBy, metrics, names }: StatsRequest,
): Readonly<Record<string, string | number | null>> => ({
  start,
  ...named(groups, groupBy),
  ...Object.fromEntries(
    groupBy.flatMap((dimension, index) =>
      hasNames(dimension) || dimension === 'tag'
        ? [[secondColumn(dimension), names.get(groups[index] ?? '') ?? '']]
        : [],
    ),
  ),
  ...Object.fromEntries(metrics.map((name) => [name, row[name]])),
  ...Object.fromEntries(ratesOf(row, metrics).map(([name, value]) => [`${name}_rate`, value])),
  latency_p50_ms: row.latency?.p50 ?? null,
  latency_p90_ms: row.latency?.p90 ?? null,
  latency_p99_ms: row.latency?.p99 ?? null,
});

/** The buckets as CSV (RFC 4180) with a header, or as one JSON object a line; in chunks. */
async function* tableOf(type: StatsTable, { data }: Stats, asked: StatsRequest): AsyncGenerator<string> {
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

const HOUR_MS = 3_600_000;
const DAYS_DEFAULT = 30;
/** Length of the shortest bucket. */
const GRANULARITY_HOURS: Readonly<Record<StatsGranularity, number>> = { hour: 1, day: 23, week: 167, month: 671 };
const FILTER_CHARACTERS_MAX = 253;
const VERSION_MAX = 999_999_999;

const DIMENSIONS_MAX = 2;

const isDimension = (text: string): text is StatsDimension => (STATS_DIMENSIONS as readonly string[]).includes(text);

const areDimensions = (text: string): boolean => {
  const names = text.split(',');
  return names.length <= DIMENSIONS_MAX && new Set(names).size === names.length && names.every(isDimension);
};

const isMetric = (text: string): text is StatsMetric => (STATS_METRICS as readonly string[]).includes(text);

const filter = z.string().min(1).max(FILTER_CHARACTERS_MAX).optional().describe('Only counts with this value.');

const query = z.strictObject({
  from: timeParameter()
    .optional()
    .describe(`A time in ISO 8601, or a day of the time zone. Default: ${DAYS_DEFAULT} days before \`to\`.`),
  to: timeParameter().optional().describe('Before this time, or this day. Default: now.'),
  granularity: z.enum(STATS_GRANULARITIES).default('day').describe('Length of a bucket.'),
  timezone: timeZone()
    .optional()
    .describe('IANA time zone of the buckets, and of dates in `from` and `to`. Default: the organization’s.'),
  group_by: z
    .string()
    .refine(areDimensions, `must be one or two of ${STATS_DIMENSIONS.join(', ')}, separated by a comma`)
    .transform((text) => text.split(',').filter(isDimension))
    .optional()
    .describe('Separate counts for each value of this dimension, or of two: `domain,stream`.'),
  attribution: z
    .enum(STATS_ATTRIBUTIONS)
    .default('cohort')
    .describe(
      '`cohort`: counts an outcome at the time at which the message was accepted. `event`: at the time of the outcome itself.',
    ),
  compare: z
    .literal('previous')
    .optional()
    .describe('`previous`: also return the period of the same length before `from`.'),
  metrics: z
    .string()
    .refine(
      (text) => text.split(',').every(isMetric),
      `must be a list, separated by commas, of ${STATS_METRICS.join(', ')}`,
    )
    .transform((text) => text.split(',').filter(isMetric))
    .optional()
    .describe('Metrics, separated by commas. Default: all.'),
  domain: idParameter('domain').describe('Only counts of this sending domain, by id.'),
  stream: filter,
  api_key: idParameter('sender').describe('Only counts of this API key, or of the member who sent, by id.'),
  recipient_domain: recipientDomain().optional().describe('Only recipients at this domain.'),
  mailbox_provider: filter,
  bounce_class: z.enum(BOUNCE_CATEGORIES).optional().describe('Only bounces of this class.'),
  tag: tagParameter()
    .optional()
    .describe(
      'Only messages with this tag, `campaign:spring`. Cannot be combined with `recipient_domain` or `mailbox_provider`.',
    ),
  template: idParameter('template').describe(
    `Only messages rendered from this template, by id or alias. \`${NO_TEMPLATE}\`: from no template.`,
  ),
  template_version: integerParameter(1, VERSION_MAX).optional().describe('Only this version of `template`.'),
});
type StatsQuery = z.output<typeof query>;

const refuse = (field: string, sentence: string): DomainError =>
  new DomainError('invalid_request', 'the request is invalid: see details', { details: { [field]: [sentence] } });

const TAG_ALONE =
  'tag cannot be combined with recipient_domain or mailbox_provider: request each one separately, or count ' +
  'the events of GET /v1/events?tag=…&recipient_domain=…';

/** @throws {DomainError} if the range is empty or has too many buckets. */
const rangeOf = ({ from, to, granularity }: StatsQuery, now: Date): { readonly from: string; readonly to: string } => {
  const end = to ?? now.toISOString();
  const start = from ?? new Date(Date.parse(end) - DAYS_DEFAULT * 24 * HOUR_MS).toISOString();
  const hours = (Date.parse(end) - Date.parse(start)) / HOUR_MS;
  if (hours <= 0) throw refuse('from', 'from must be before to');
  if (hours / GRANULARITY_HOURS[granularity] > STATS_BUCKETS_MAX) {
    throw refuse(
      'granularity',
      `granularity gives more than ${STATS_BUCKETS_MAX} buckets for this range: use a longer granularity or a shorter range`,
    );
  }
  return { from: start, to: end };
};

/** @throws {DomainError} a version without the template it is of. */
const templateOf = ({ template, template_version, group_by = [] }: StatsQuery, organizationId: string) => {
  if (template === NO_TEMPLATE) return '';
  if (template !== undefined) return templateIdOf(organizationId, template);
  if (template_version !== undefined) throw refuse('template_version', 'template_version requires template');
  if (group_by.includes('template_version') && !group_by.includes('template'))
    throw refuse(
      'group_by',
      'group_by=template_version requires a template: group by template,template_version or set template',
    );
  return undefined;
};

/** @throws {DomainError} `permission_missing` for a domain that the key may not see. */
const filtersOf = (asked: StatsQuery, caller: Caller, secret: Uint8Array): QueryStats['where'] => {
  const { domain, stream, api_key, recipient_domain, mailbox_provider, bounce_class } = asked;
  const own = visibleDomainId(caller);
  if (own !== null && domain !== undefined && domain !== own) {
    throw new DomainError('permission_missing', "API key lacks 'manage' permission: it can only see its own domain");
  }
  const template = templateOf(asked, caller.organizationId);
  const template_version = asked.template_version?.toString();
  const tag = asked.tag === undefined ? undefined : keyedDigest(secret, 'tag', asked.tag);
  const values = { tag, stream, api_key, recipient_domain, mailbox_provider, bounce_class, template, template_version };
  const entries = Object.entries({ domain: own ?? domain, ...values });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
};

/** null: JSON. */
const tableAsked = ({ headers }: FastifyRequest): StatsTable | null => {
  const accepted = acceptedIn(headers.accept);
  return STATS_TABLES.find((type) => accepted.includes(type)) ?? null;
};

const DESCRIPTION = `With \`Accept: text/csv\` or \`Accept: application/x-ndjson\` the buckets are returned as a table: one row, or one JSON
object per line, for each bucket and group, without totals. \`compare=previous\` also counts an earlier period, shifted by
the smallest number of whole hours, days, weeks or months (in the time zone) for which the periods do not overlap. At most
25 groups are returned, those with the most accepted recipients; the group \`(other)\` contains the rest.`;

export const getStatsRoute = endpoint(
  'GET /v1/stats',
  {
    summary: 'Get statistics',
    description: DESCRIPTION,
    query,
    answer: statsSchema,
    otherMediaTypes: STATS_TABLES,
  },
  async ({ caller, query: asked, request, reply }, { deps, auth }) => {
    const { granularity, attribution, timezone = auth.keyCache.settingsOf(caller.organizationId).timezone } = asked;
    const now = deps.context.system.now();
    const range = rangeOf(asked, now);
    const secret = await organizationSecret(deps.context.secrets, caller.organizationId);
    const where = filtersOf(asked, caller, secret);
    const table = tableAsked(request);
    if (table !== null && asked.compare !== undefined)
      throw refuse('compare', 'compare is not available for CSV: request the other period separately');
    await readWhatIs(deps, ['stats']);
    const groupBy = asked.group_by ?? [];
    const by = {
      organizationId: caller.organizationId,
      environment: caller.environment,
      granularity,
      timezone,
      attribution,
      where,
      ...range,
      groupBy,
      comparesPrevious: asked.compare !== undefined,
    };
    if (!areKept(by)) throw refuse('group_by', TAG_ALONE);
    const { stats, tagIds } = await nameTags(deps, by, { secret, caller }, await deps.readModels.stats.query(by));
    const metrics = asked.metrics ?? STATS_METRICS;
    const completeUntil = stats.completeUntil ?? now.toISOString();
    const resources = table === null ? [] : await namesIn(deps.context, stats, groupBy);
    const names = new Map([...resources, ...tagIds]);
    const shown: StatsRequest = { granularity, timezone, attribution, groupBy, metrics, names, completeUntil };
    reply.header('vary', 'accept');
    if (table === null) return serializeStats(stats, shown);
    reply.type(`${table}; charset=utf-8`);
    reply.header('complete-until', shown.completeUntil);
    return Readable.from(tableOf(table, stats, shown));
  },
);
