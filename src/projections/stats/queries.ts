import type { Pool } from 'pg';
import type { Environment } from '../../domain/kernel/environment.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { Database } from '../../lib/projections/projections.ts';
import {
  type LatencyPercentiles,
  MAILBOX_PROVIDERS,
  OTHER_PROVIDER,
  percentilesOf,
  STATS_METRICS,
  STATS_OTHERS,
  type StatsAttribution,
  type StatsDimension,
  type StatsGranularity,
  type StatsMetric,
} from './metrics.ts';

/** The period, filters and grouping to count. */
interface CountedPeriod {
  readonly organizationId: string;
  /** null: both. */
  readonly environment: Environment | null;
  /** ISO 8601; counted in steps of 15 minutes, so earlier ones are rounded down and later ones up. */
  readonly from: string;
  readonly to: string;
  readonly granularity: StatsGranularity;
  /** IANA name. */
  readonly timezone: string;
  readonly attribution: StatsAttribution;
  /** Two at most. */
  readonly groupBy: readonly StatsDimension[];
  /** Only what has these values. */
  readonly where: Partial<Readonly<Record<Exclude<StatsDimension, 'environment'>, string>>>;
}

/** Groups an answer may have: those with most recipients accepted; the others are one more together. */
const STATS_GROUPS_MAX = 25;

/** Values of the dimensions, in a row of `stats_buckets`. */
const VALUES: Readonly<Record<StatsDimension, string>> = {
  domain: 'b.domain_id',
  stream: 'b.stream',
  template: 'b.template_id',
  // Empty without a template, like `template`; the table stores 0.
  template_version: "coalesce(nullif(b.template_version, 0)::text, '')",
  api_key: 'b.key_id',
  recipient_domain: 'b.split_value',
  mailbox_provider: `coalesce('${JSON.stringify(MAILBOX_PROVIDERS)}'::jsonb ->> b.split_value, '${OTHER_PROVIDER}')`,
  bounce_class: 'b.bounce_class',
  tag: 'b.split_value',
  environment: 'b.environment',
};
/** Dimensions that the rows of one split alone have. */
const SPLITS: Partial<Readonly<Record<string, 'recipient_domain' | 'tag'>>> = {
  recipient_domain: 'recipient_domain',
  mailbox_provider: 'recipient_domain',
  tag: 'tag',
};

/** The split that has these dimensions; undefined: all have. */
const splitsOf = ({ groupBy, where }: Pick<CountedPeriod, 'groupBy' | 'where'>) => [
  ...new Set([...groupBy, ...Object.keys(where)].flatMap((dimension) => SPLITS[dimension] ?? [])),
];

/** Whether it is kept: recipients are not counted by tag and by their domain at once, which would be many rows. */
export const areKept = (by: Pick<CountedPeriod, 'groupBy' | 'where'>): boolean => splitsOf(by).length <= 1;

/**
 * The start of every bucket. Days and longer are counted in local time, so that those around a change of the clocks have
 * 23 or 25 hours. An hour is what `date_trunc` makes of the quarters in it: a clock may change by half an hour. PostgreSQL
 * before 16 has no `generate_series` with a time zone.
 */
const startsSql = (granularity: StatsGranularity): string =>
  granularity === 'hour'
    ? `select distinct date_trunc('hour', quarter, $4) as start
    from range, generate_series(first, beyond - interval '1 microsecond', interval '15 minutes') quarter`
    : `select local at time zone $4 as start
    from range, generate_series(date_trunc('${granularity}', first at time zone $4),
      (beyond - interval '1 microsecond') at time zone $4, interval '1 ${granularity}') local`;

/** Time that is counted in rows of one kind. By quarter: whole periods. */
const BY_QUARTER = `
    select start, '' as split, first, beyond from periods`;

/** The whole UTC days in a period, of which there are few rows, and the quarters before and after them. */
const byDay = (split: string): string => `
    select start, parts.*
    from periods, lateral (
      select date_bin('1 day', first + interval '1 day' - interval '1 microsecond', 'epoch') as day,
        date_bin('1 day', beyond, 'epoch') as rest
    ) days, lateral (
      values ('${split}', first, least(day, beyond)), ('${split}_day', day, rest),
        ('${split}', greatest(day, rest), beyond)
    ) parts (split, first, beyond)
    where parts.first < parts.beyond`;

/** The rows of a span `s`, and the parameters in it from $5. */
const rowsSql = ({ attribution, environment, where }: CountedPeriod) => {
  const filters = Object.entries(where) as [StatsDimension, string][]; // of those very names
  const conditions = filters.map(([dimension], index) => `and ${VALUES[dimension]} = $${index + 6}`);
  const text = `from read_models.stats_buckets b
      where b.organization_id = $1 and b.environment = any($5::text[])
        and b.split = s.split and b.bucket >= s.first and b.bucket < s.beyond
        ${attribution === 'cohort' ? 'and not b.moved' : ''} ${conditions.join(' ')}`;
  const environments = environment === null ? ['live', 'test'] : [environment];
  return { text, values: [environments, ...filters.map(([, value]) => value)] };
};

const SUMS = STATS_METRICS.map((name) => `sum(${name}) as ${name}`).join(', ');

/**
 * Returns one row for each bucket and group. Each span of time is a separate lookup in the primary key (`offset 0`), which
 * avoids computing the bucket of each row.
 */
const statsSql = (by: CountedPeriod) => {
  const { groupBy } = by;
  const [split] = splitsOf(by);
  const rows = rowsSql(by);
  const [one = "''", two = "''"] = groupBy.map((dimension) => VALUES[dimension]);
  const groups = `${one} as one, ${two} as two`;
  const text = `
  with range as (
    select date_bin('15 minutes', $2::timestamptz, 'epoch') as first,
      date_bin('15 minutes', $3::timestamptz + interval '15 minutes' - interval '1 microsecond', 'epoch') as beyond
  ), starts as (
    ${startsSql(by.granularity)}
  ), periods as (
    select start, greatest(start, first) as first, lead(start, 1, beyond) over (order by start) as beyond
    from starts, range
  ), spans as materialized (${split === undefined ? BY_QUARTER : byDay(split)}
  ), counts as materialized (
    select s.start, c.* from spans s cross join lateral (
      select one, two, ${SUMS} from (select ${groups}, b.* ${rows.text} offset 0) b group by one, two
    ) c
  ), latencies as materialized (
    select s.start, l.* from spans s cross join lateral (
      select one, two, bin, sum(count) as count
      from (select ${groups}, unnest(b.latency_bins) as bin, unnest(b.latency_counts) as count ${rows.text} offset 0) b
      group by one, two, bin
    ) l
  ), places as (
    select one, two, row_number() over (order by sum(accepted) desc, sum(bounced) desc, one, two) as place
    from counts group by one, two
  ), named as (
    select one, two, case when place <= ${STATS_GROUPS_MAX} then one else '${STATS_OTHERS}' end as name,
      case when place <= ${STATS_GROUPS_MAX} then two else '${STATS_OTHERS}' end as second
    from places
  ), groups as (
    ${groupBy.length === 0 ? "select '' as name, '' as second" : 'select distinct name, second from named'}
  ), sums as (
    select start, name, second, ${SUMS} from counts join named using (one, two) group by start, name, second
  ), bins as (
    select start, name, second, bin, sum(count) as count
    from latencies join named using (one, two) group by start, name, second, bin
  ), histograms as (
    select start, name, second, array_agg(bin order by bin) as bins, array_agg(count order by bin) as bin_counts
    from bins group by start, name, second
  )
  select start, (array[name, second])[1:${groupBy.length}] as groups,
    ${STATS_METRICS.map((name) => `coalesce(${name}, 0) as ${name}`).join(', ')}, bins, bin_counts
  from starts cross join groups left join sums using (start, name, second) left join histograms using (start, name, second)
  order by start, name, second`;
  return { text, values: [by.organizationId, by.from, by.to, by.timezone, ...rows.values] };
};

type StatsCounts = Readonly<Record<StatsMetric, number>>;

/** Maximum buckets per response: a year of hours would take a second to compute and be too long to read. */
export const STATS_BUCKETS_MAX = 2000;
/** Time-out of a query. Higher: few callers can keep the database busy. Lower: more requests are refused. */
const QUERY_MS_MAX = 8000;

export interface QueryStats extends CountedPeriod {
  /** Counts the period before too. */
  readonly comparesPrevious: boolean;
}

export interface StatsRow extends StatsCounts {
  /** From acceptance to delivery; null where nothing was delivered. */
  readonly latency: LatencyPercentiles | null;
}

interface StatsGroup extends StatsRow {
  /** Values of the dimensions grouped by. */
  readonly groups: readonly string[];
}

interface StatsBucket extends StatsGroup {
  /** Start of the bucket in the asked time zone; ISO 8601 in UTC. */
  readonly start: string;
}

/** Counts of one period. */
export interface PeriodStats {
  /** ISO 8601. */
  readonly from: string;
  readonly to: string;
  readonly totals: StatsRow;
  /** Every bucket of the range, empty ones too; with `groupBy`, of each group. */
  readonly data: readonly StatsBucket[];
  /** Each group over the whole period, the one with most recipients accepted first. Without `groupBy`: all as one. */
  readonly groups: readonly StatsGroup[];
}

export interface Stats extends PeriodStats {
  readonly previous?: PeriodStats;
  /** Time of the newest event that is counted, of whatever kind; null: the log is empty. */
  readonly completeUntil: string | null;
}

interface Row extends Record<StatsMetric, string> {
  readonly start: Date;
  readonly groups: readonly string[];
  /** Ascending. */
  readonly bins: readonly number[] | null;
  readonly bin_counts: readonly string[] | null;
}

const countsBy = (count: (name: StatsMetric) => number) =>
  Object.fromEntries(STATS_METRICS.map((name) => [name, count(name)])) as StatsCounts; // of those very names

type Histogram = Map<number, number>;

const histogramOf = (rows: readonly Row[]): Histogram => {
  const histogram: Histogram = new Map();
  for (const { bins, bin_counts } of rows)
    for (const [at, bin] of (bins ?? []).entries())
      histogram.set(bin, (histogram.get(bin) ?? 0) + Number(bin_counts?.[at]));
  return histogram;
};

/** The sum of rows. */
const sumOf = (rows: readonly Row[]): StatsRow => {
  const bins = [...histogramOf(rows)].sort(([left], [right]) => left - right);
  return {
    ...countsBy((name) => rows.reduce((sum, row) => sum + Number(row[name]), 0)),
    latency: percentilesOf(bins.map(([bin, count]) => ({ bin, count }))),
  };
};

const queryPeriod = async (
  db: Database,
  by: QueryStats,
  { from, to }: Pick<PeriodStats, 'from' | 'to'>,
): Promise<PeriodStats> => {
  const { text, values } = statsSql({ ...by, from, to });
  const { rows } = await db.query<Row>(text, values);
  const data = rows.map((row) => ({ start: row.start.toISOString(), groups: row.groups, ...sumOf([row]) }));
  return {
    from,
    to,
    totals: addUp(by) ? sumOf(rows) : await totalsOf(db, { ...by, from, to }),
    data,
    groups: groupsOf(rows),
  };
};

const groupsOf = (rows: readonly Row[]): readonly StatsGroup[] =>
  Map.groupBy(rows, ({ groups }) => JSON.stringify(groups))
    .values()
    .map((own) => ({ groups: own[0]?.groups ?? [], ...sumOf(own) }))
    .toArray()
    .sort((one, other) => other.accepted - one.accepted);

/** Whether the groups make up the totals: recipients have several tags, or none. */
const addUp = ({ groupBy, where }: QueryStats): boolean => !groupBy.includes('tag') || where.tag !== undefined;

const totalsOf = async (db: Database, by: QueryStats): Promise<StatsRow> => {
  const { text, values } = statsSql({ ...by, groupBy: [] });
  return sumOf((await db.query<Row>(text, values)).rows);
};

/**
 * The period before: as many whole hours, days, weeks or months earlier, by the clocks of the time zone, as it takes for it
 * to end when the period begins, or before. $1 from, $2 to, $3 time zone, $4 longest.
 */
const previousSql = (granularity: StatsGranularity): string => `
  select ($1::timestamptz at time zone $3 - n * step) at time zone $3 as "from",
    ($2::timestamptz at time zone $3 - n * step) at time zone $3 as "to"
  from (select interval '1 ${granularity}' as step) unit, generate_series(1, $4::integer) n
  where $2::timestamptz at time zone $3 - n * step <= $1::timestamptz at time zone $3
  order by n limit 1`;

const previousPeriod = async (db: Database, by: QueryStats): Promise<Pick<PeriodStats, 'from' | 'to'>> => {
  const values = [by.from, by.to, by.timezone, STATS_BUCKETS_MAX + 1];
  const { rows } = await db.query<{ readonly from: Date; readonly to: Date }>(previousSql(by.granularity), values);
  const [{ from, to } = { from: new Date(by.from), to: new Date(by.from) }] = rows;
  return { from: from.toISOString(), to: to.toISOString() };
};

/** Time of the newest event that the projection has applied. */
const COMPLETE_UNTIL = `select occurred_at as at from read_models.checkpoints where name = 'stats'`;

const queryAll = async (db: Database, by: QueryStats): Promise<Stats> => {
  const { rows } = await db.query<{ readonly at: Date | null }>(COMPLETE_UNTIL);
  const stats = { ...(await queryPeriod(db, by, by)), completeUntil: rows[0]?.at?.toISOString() ?? null };
  if (!by.comparesPrevious) return stats;
  return { ...stats, previous: await queryPeriod(db, by, await previousPeriod(db, by)) };
};

/** One state of the counts for all statements. Compiling a statement takes longer than it saves here. */
const beginSql = (patienceMs: number): string =>
  `begin isolation level repeatable read read only; set local statement_timeout = ${patienceMs}; set local jit = off`;

/** The server has cancelled a statement (SQLSTATE 57014). */
const isTooMuch = (error: unknown): boolean => (error as { readonly code?: unknown } | null)?.code === '57014';

/** Counts by time and two dimensions at most. @throws {DomainError} `unavailable`: it takes too long. */
export const queryStats = async (
  pool: Pick<Pool, 'connect'>,
  by: QueryStats,
  patienceMs = QUERY_MS_MAX,
): Promise<Stats> => {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query(beginSql(patienceMs));
    const stats = await queryAll(client, by);
    await client.query('commit');
    return stats;
  } catch (error) {
    failure = error as Error;
    if (isTooMuch(error)) throw new DomainError('unavailable', TOO_MUCH);
    throw error;
  } finally {
    client.release(failure);
  }
};

const TOO_MUCH =
  'these statistics take too long to count: ask for a shorter time, a longer granularity, a filter or fewer groups';
