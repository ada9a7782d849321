import type { Pool } from 'pg';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { Database } from '../database.ts';
import { type CountedPeriod, statsSql } from './counts-sql.ts';
import {
  type LatencyPercentiles,
  percentilesOf,
  STATS_METRICS,
  type StatsGranularity,
  type StatsMetric,
} from './metrics.ts';

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
