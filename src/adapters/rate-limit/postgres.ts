import type { Pool } from 'pg';
import type { RateLimiter } from '../../domain/kernel/rate-limits.ts';
import type { Logger, System } from '../../lib/async/async.ts';
import { createBuckets, type Run, resultOf, takeFrom, WINDOW_MS } from './in-memory.ts';

/**
 * Rate limits of several processes without Redis. Each process counts its allowed requests in memory, and reports them
 * to PostgreSQL a few times a second; the response has the counts of the others. No request waits for that. A limit may
 * therefore be exceeded by the requests that arrive between two syncs of the processes concerned, but by no more.
 *
 * A report has the whole count of a bucket, not a difference, so a lost or repeated sync changes nothing. Reports
 * contain only durations, never times of day, since clocks of processes may differ. While PostgreSQL does not answer,
 * each process counts on its own and keeps using the last counts of the others, until those have left the window.
 */

/** Pause between two syncs. Shorter costs PostgreSQL more, longer allows more at several processes. */
const SYNC_MS = 200;
/** Pause after a failed sync. */
const RETRY_MS = 1_000;
/**
 * Reports from this long before the last sync are read again, since a statement still running at that time was not
 * visible yet. Longer than a statement may take (`start-api.ts`).
 */
const OVERLAP_MS = 2_000;
/** Buckets of one statement, each of up to 0.7 kB. The rest goes with the next one, at once. */
const TOLD_MAX = 1_000;
/** Interval for deleting rows of ended processes and unused buckets. */
const CLEAN_UP_MS = 60_000;
/** How long a start waits for the counts of the others. */
const FIRST_SYNC_MS = 1_000;

const SYNC = `
  with told as (
    insert into limits.counters as c (bucket, process, costs, ages_ms, told_at)
    select bucket, $1::uuid, costs, ages_ms, clock_timestamp()
    from jsonb_to_recordset($2::jsonb) as t (bucket text, costs integer[], ages_ms integer[])
    order by bucket
    on conflict (bucket, process)
      do update set costs = excluded.costs, ages_ms = excluded.ages_ms, told_at = excluded.told_at
  )
  select bucket, process, costs, ages_ms as "agesMs",
    (extract(epoch from clock_timestamp() - told_at) * 1000)::float8 as "sinceMs"
  from limits.counters
  where process <> $1 and told_at > clock_timestamp() - $3 * interval '1 millisecond'`;

const CLEAN_UP = `delete from limits.counters where told_at < clock_timestamp() - $1 * interval '1 millisecond'`;

/** Count of one bucket by another process. */
interface Heard {
  readonly bucket: string;
  readonly process: string;
  readonly costs: readonly number[];
  readonly agesMs: readonly number[];
  readonly sinceMs: number;
}

interface Counter {
  /** Takes allowed by this process, oldest first. */
  readonly runs: Run[];
  /** Takes allowed by each other process. */
  readonly others: Map<string, readonly Run[]>;
}

export interface PostgresRateLimiterOptions {
  /** A pool of its own: a sync must not wait for other work. */
  readonly pool: Pool;
  readonly system: System;
  readonly logger: Logger;
  readonly windowMs?: number;
  readonly bucketsMax?: number;
}

const allRuns = ({ others }: Counter): readonly Run[] => (others.size === 0 ? [] : [...others.values()].flat());

export const createPostgresRateLimiter = async (options: PostgresRateLimiterOptions): Promise<RateLimiter> => {
  const { pool, system, logger, windowMs = WINDOW_MS, bucketsMax } = options;
  const processId = system.uuid();
  const closing = new AbortController();
  const now = (): number => Math.floor(system.monotonicMs()); // whole milliseconds add up exactly

  const hasEnded = (runs: readonly Run[], nowMs: number): boolean => (runs.at(-1)?.lastMs ?? 0) + windowMs <= nowMs;
  const isIdle = ({ runs, others }: Counter, nowMs: number): boolean =>
    hasEnded(runs, nowMs) && (others.size === 0 || [...others.values()].every((each) => hasEnded(each, nowMs)));
  const buckets = createBuckets<Counter>({ bucketsMax, isIdle });
  /** Buckets changed since the last sync. They are reported even if they have been evicted since. */
  const changed = new Map<string, Counter>();

  const counterOf = (bucket: string): Counter =>
    buckets.get(bucket) ?? changed.get(bucket) ?? { runs: [], others: new Map() };

  const rowOf = ([bucket, { runs }]: readonly [string, Counter], nowMs: number) => ({
    bucket,
    costs: runs.map(({ cost }) => cost),
    ages_ms: runs.map(({ lastMs }) => nowMs - lastMs),
  });

  /** Counts it from now on: the delay of the response makes it expire late, never early. */
  const hear = ({ bucket, process, costs, agesMs, sinceMs }: Heard, nowMs: number): void => {
    const runs = costs.map((cost, index): Run => {
      const endedMs = nowMs - Math.floor(sinceMs) - (agesMs[index] ?? 0);
      return { firstMs: endedMs, lastMs: endedMs, cost };
    });
    const counter = counterOf(bucket);
    counter.others.set(process, runs);
    for (const [other, ended] of counter.others) if (hasEnded(ended, nowMs)) counter.others.delete(other);
    buckets.use(bucket, counter, nowMs);
  };

  let heardAtMs = Number.NEGATIVE_INFINITY;
  let cleanedAtMs = Number.NEGATIVE_INFINITY;
  let isLost = false;

  const tell = async (told: readonly (readonly [string, Counter])[]): Promise<void> => {
    const beganMs = now();
    const rows = JSON.stringify(told.map((each) => rowOf(each, beganMs)));
    const sinceMs = Math.min(beganMs - heardAtMs + OVERLAP_MS, windowMs * 2);
    const heard = await pool.query<Heard>({ name: 'sync-limits', text: SYNC, values: [processId, rows, sinceMs] });
    for (const row of heard.rows) hear(row, now());
    heardAtMs = beganMs;
  };

  const cleanUp = async (): Promise<void> => {
    if (heardAtMs - cleanedAtMs < CLEAN_UP_MS) return;
    cleanedAtMs = heardAtMs;
    await pool.query(CLEAN_UP, [windowMs * 2]);
  };

  const lost = (err: unknown): void => {
    if (!isLost) logger.warn({ err }, 'rate limits: PostgreSQL does not answer. Each process counts separately');
    isLost = true;
  };
  const found = (): void => {
    if (isLost) logger.info({}, 'rate limits: PostgreSQL answers again. Processes share their counts');
    isLost = false;
  };

  /** Removes and returns the buckets for the next sync. */
  const takeChanged = (): readonly (readonly [string, Counter])[] => {
    const told = [...changed].slice(0, TOLD_MAX);
    for (const [bucket] of told) changed.delete(bucket);
    return told;
  };

  /** @returns the wait before the next sync. Never fails. */
  const sync = async (): Promise<number> => {
    const told = takeChanged();
    try {
      await tell(told);
      await cleanUp();
    } catch (error) {
      for (const [bucket, counter] of told) changed.set(bucket, counter);
      lost(error);
      return RETRY_MS;
    }
    found();
    return told.length === TOLD_MAX ? 0 : SYNC_MS;
  };

  const keepInSync = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const waitMs = await sync();
      await system.sleep(waitMs, closing.signal).catch(() => undefined); // closing ends the wait
    }
  };

  const first = sync();
  await Promise.race([first, system.sleep(FIRST_SYNC_MS, closing.signal)]);
  const running = first.then(keepInSync);

  return {
    take: async (bucket, cost, limit) => {
      const nowMs = now();
      const counter = counterOf(bucket);
      const taken = takeFrom(counter.runs, { cost, limit, nowMs, windowMs }, allRuns(counter));
      if (taken.allowed && cost > 0) {
        buckets.use(bucket, counter, nowMs);
        changed.set(bucket, counter);
      }
      return resultOf(taken, limit);
    },
    // The last counts are reported too, since another process may take over the clients.
    close: async () => {
      closing.abort();
      await running;
      if (!isLost) await sync();
    },
  };
};
