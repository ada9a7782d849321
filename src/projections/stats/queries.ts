import type { Environment } from '../../domain/environment.ts';
import type { Database } from '../database.ts';
import { type LatencyPercentiles, percentilesOf } from './latency-histogram.ts';
import { STATS_METRICS, type StatsDimension, type StatsGranularity, type StatsMetric } from './metrics.ts';
import { STATS_SQL } from './queries-sql.ts';

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
  readonly groupBy: StatsDimension | null;
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
  /** Value of the dimension grouped by; absent without `groupBy`. */
  readonly group?: string;
}

export interface Stats {
  readonly totals: StatsRow;
  /** Every bucket of the range, empty ones too; with `groupBy`, of each group. */
  readonly data: readonly StatsBucket[];
}

type Counted = Record<StatsMetric, string>;
interface Row extends Counted {
  /** null: the totals. */
  readonly start: Date | null;
  readonly grp: string | null;
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

/** Counts by time and one dimension at most. */
export const queryStats = async (db: Database, by: QueryStats): Promise<Stats> => {
  const { organizationId, environment, from, to, granularity, timezone, groupBy, where } = by;
  const { rows } = await db.query<Row>(STATS_SQL(groupBy, granularity), [
    ...[organizationId, environment === null ? ['live', 'test'] : [environment], from, to, granularity, timezone],
    ...[where.domain ?? null, where.stream ?? null, where.api_key ?? null, where.recipient_domain ?? null],
    STATS_GROUPS_MAX,
  ]);
  const total = rows.find(({ start }) => start === null);
  const data = rows.flatMap((row): StatsBucket[] => {
    if (row.start === null) return [];
    const group = row.grp === null ? {} : { group: row.grp };
    return [{ start: row.start.toISOString(), ...group, ...rowOf(row) }];
  });
  return { totals: total === undefined ? NOTHING : rowOf(total), data };
};
