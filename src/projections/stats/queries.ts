import type { Environment } from '../../domain/environment.ts';
import type { Database } from '../database.ts';
import {
  type LatencyPercentiles,
  percentilesOf,
  STATS_METRICS,
  type StatsDimension,
  type StatsGranularity,
  type StatsMetric,
} from './metrics.ts';

type StatsCounts = Readonly<Record<StatsMetric, number>>;

/** Buckets an answer may have: a year of hours would be a page nobody reads and a second of work. */
export const STATS_BUCKETS_MAX = 2000;
/** Groups an answer may have: those with most recipients accepted; the others are in the totals alone. */
const STATS_GROUPS_MAX = 25;

export interface QueryStats {
  readonly organizationId: string;
  /** null: both. */
  readonly environment: Environment | null;
  /** ISO 8601; counted in steps of 15 minutes, so earlier ones are rounded down and later ones up. */
  readonly from: string;
  readonly to: string;
  readonly granularity: StatsGranularity;
  /** IANA name. */
  readonly timezone: string;
  /** Two at most. */
  readonly groupBy: readonly StatsDimension[];
  /** Counts the period before too. */
  readonly comparesPrevious: boolean;
  /** Only what has these values. */
  readonly where: Partial<Readonly<Record<Exclude<StatsDimension, 'environment'>, string>>>;
}

export interface StatsRow extends StatsCounts {
  /** From acceptance to delivery; null where nothing was delivered. */
  readonly latency: LatencyPercentiles | null;
}

interface StatsBucket extends StatsRow {
  /** Start of the bucket in the asked time zone; ISO 8601 in UTC. */
  readonly start: string;
  /** Values of the dimensions grouped by. */
  readonly groups: readonly string[];
}

/** Counts of one period. */
export interface PeriodStats {
  /** ISO 8601. */
  readonly from: string;
  readonly to: string;
  readonly totals: StatsRow;
  /** Every bucket of the range, empty ones too; with `groupBy`, of each group. */
  readonly data: readonly StatsBucket[];
}

export interface Stats extends PeriodStats {
  readonly previous?: PeriodStats;
}

type Counted = Record<StatsMetric, string>;
interface Row extends Counted {
  /** null: the totals. */
  readonly start: Date | null;
  readonly grp: readonly string[] | null;
  /** Ascending; in the totals a bin may come several times, once for each bucket. */
  readonly bins: readonly string[] | null;
  readonly bin_counts: readonly string[] | null;
}

const countsBy = (count: (name: StatsMetric) => number) =>
  Object.fromEntries(STATS_METRICS.map((name) => [name, count(name)])) as StatsCounts; // of those very names

const rowOf = (row: Row): StatsRow => ({
  ...countsBy((name) => Number(row[name])),
  latency: percentilesOf(
    (row.bins ?? []).map((bin, at) => ({ bin: Number(bin), count: Number(row.bin_counts?.[at]) })),
  ),
});

const NOTHING: StatsRow = { ...countsBy(() => 0), latency: null };

const queryPeriod = async (
  db: Database,
  { organizationId, environment, granularity, timezone, groupBy, where }: QueryStats,
  { from, to }: Pick<PeriodStats, 'from' | 'to'>,
): Promise<PeriodStats> => {
  const { rows } = await db.query<Row>(STATS_SQL(groupBy, granularity), [
    organizationId,
    environment === null ? ['live', 'test'] : [environment],
    from,
    to,
    granularity,
    timezone,
    where.domain ?? null,
    where.stream ?? null,
    where.api_key ?? null,
    where.recipient_domain ?? null,
    where.template ?? null,
    STATS_GROUPS_MAX,
  ]);
  const total = rows.find(({ start }) => start === null);
  const data = rows.flatMap((row): StatsBucket[] => {
    if (row.start === null) return [];
    return [{ start: row.start.toISOString(), groups: row.grp ?? [], ...rowOf(row) }];
  });
  return { from, to, totals: total === undefined ? NOTHING : rowOf(total), data };
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

/** Counts by time and two dimensions at most. */
export const queryStats = async (db: Database, by: QueryStats): Promise<Stats> => {
  const stats = await queryPeriod(db, by, by);
  if (!by.comparesPrevious) return stats;
  return { ...stats, previous: await queryPeriod(db, by, await previousPeriod(db, by)) };
};

const COLUMNS: Readonly<Record<StatsDimension, string>> = {
  domain: 'domain_id',
  stream: 'stream',
  template: 'template_id',
  api_key: 'key_id',
  recipient_domain: 'recipient_domain',
  environment: 'environment',
};

const COUNTS = STATS_METRICS;

/**
 * The start of every bucket. Days and longer are counted in local time, so that those around a change of the clocks have
 * 23 or 25 hours. An hour is what `date_trunc` makes of the quarters in it: a clock may change by half an hour. PostgreSQL
 * before 16 has no `generate_series` with a time zone.
 */
const startsSql = (granularity: StatsGranularity): string =>
  granularity === 'hour'
    ? `select distinct date_trunc('hour', quarter, $6) as start
    from range, generate_series(first, beyond - interval '1 microsecond', interval '15 minutes') quarter`
    : `select local at time zone $6 as start
    from range, generate_series(date_trunc('${granularity}', first at time zone $6),
      (beyond - interval '1 microsecond') at time zone $6, interval '1 ${granularity}') local`;

/**
 * $1 organization, $2 environments, $3 from, $4 to, $5 granularity, $6 time zone, $7 to $11 filters, $12 groups at most.
 * One row for each bucket (and group), and one with neither for the totals.
 */
export const STATS_SQL = (groupBy: readonly StatsDimension[], granularity: StatsGranularity): string => {
  const group = `array[${groupBy.map((dimension) => `b.${COLUMNS[dimension]}`).join(', ')}]::text[]`;
  return `
  with range as (
    select date_bin('15 minutes', $3::timestamptz, 'epoch') as first,
      date_bin('15 minutes', $4::timestamptz + interval '15 minutes' - interval '1 microsecond', 'epoch') as beyond
  ), base as (
    select date_trunc($5, b.bucket, $6) as start, ${group} as grp, ${COUNTS.map((name) => `b.${name}`).join(', ')}, b.latency_bins, b.latency_counts
    from read_models.stats_buckets b, range
    where b.organization_id = $1 and b.environment = any($2::text[])
      and b.bucket >= range.first and b.bucket < range.beyond
      and ($7::text is null or b.domain_id = $7) and ($8::text is null or b.stream = $8)
      and ($9::text is null or b.key_id = $9) and ($10::text is null or b.recipient_domain = $10)
      and ($11::text is null or b.template_id = $11)
  ), counts as (
    select grouping(start) as total, start, grp, ${COUNTS.map((name) => `sum(${name}) as ${name}`).join(', ')}
    from base group by grouping sets ((start, grp), ())
  ), bins as (
    select start, grp, bin, sum(count) as count
    from base, unnest(latency_bins, latency_counts) as histogram(bin, count)
    group by start, grp, bin
  ), latencies as (
    select grouping(start) as total, start, grp, array_agg(bin order by bin) as bins,
      array_agg(count order by bin) as bin_counts
    from bins group by grouping sets ((start, grp), ())
  ), groups as (
    select grp from base group by grp order by sum(accepted) desc, grp limit $12
  ), starts as (
    ${startsSql(granularity)}
  ), frame as (
    select 0 as total, start, grp
    from starts, ${groupBy.length === 0 ? "(select '{}'::text[] as grp) groups" : 'groups'}
    union all select 1, null, null
  )
  select f.start, f.grp, ${COUNTS.map((name) => `coalesce(c.${name}, 0) as ${name}`).join(', ')}, l.bins, l.bin_counts
  from frame f
  left join counts c on c.total = f.total and c.start is not distinct from f.start and c.grp is not distinct from f.grp
  left join latencies l on l.total = f.total and l.start is not distinct from f.start and l.grp is not distinct from f.grp
  order by f.start, f.grp`;
};
