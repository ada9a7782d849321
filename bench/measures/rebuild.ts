import { type EventStore, LOG_START } from '../../src/domain/kernel/event-store.ts';
import { createPool } from '../../src/lib/postgres/postgres.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { auditProjection } from '../../src/projections/audit/projection.ts';
import { RUNNER_CONNECTIONS, rebuild } from '../../src/projections/runner.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { CORPUS_EVENTS } from '../harness/corpus.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { interleave } from '../harness/interleave.ts';
import { openStore } from '../harness/open-store.ts';

const FLOOR = { of: 'figure', atLeast: 20_000 } as const;
/** Each round is long enough for a steady figure. */
const ROUNDS_MAX = 3;
const PAGE_EVENTS = 10_000;
const SECOND_MS = 1_000;
const LARGE_EVENTS = 1_000_000;
/** Maximum cost of an event in a log of a million, relative to a log of a hundred thousand. */
const FLAT = { of: 'ratio', atMost: 1.3 } as const;
const MICROSECONDS = 1_000;

interface Rebuilding {
  readonly events: number;
  readonly store: EventStore;
  rebuildAll(): Promise<void>;
}

const openRebuilding = async (bench: Bench, eventsMin: number): Promise<Rebuilding> => {
  const { closers, logger } = bench;
  const { url, events } = await bench.corpus(eventsMin);
  const store = await openStore(bench, closers, url);
  const pool = createPool({ url, name: 'bench', logger, max: RUNNER_CONNECTIONS, statementTimeoutMs: 0 });
  closers.add('rebuild pool', () => pool.end());
  return {
    events,
    store,
    rebuildAll: async () => {
      const rebuilt = await rebuild({ pool, store, logger }, PROJECTIONS);
      const parked = rebuilt.filter(({ parkedEvents }) => parkedEvents > 0);
      if (parked.length > 0) throw new Error(`events were parked by ${parked.map(({ name }) => name).join(', ')}`);
    },
  };
};

const msOf = async (work: () => Promise<unknown>): Promise<number> => {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
};

/** Rebuilding all read models from a log of tens of thousands of messages, compared with only reading that log. */
export const rebuildAll: Measure = {
  name: 'rebuild',
  run: async (bench) => {
    const rebuilding = await openRebuilding(bench, CORPUS_EVENTS);
    const { events, store } = rebuilding;
    const cpu = createCpuMeter({
      'this process': { pid: process.pid, children: false },
      PostgreSQL: { pid: bench.postgres.pid, children: true },
    });
    const readAll = async (): Promise<void> => {
      let page = await store.readAll({ from: LOG_START, limit: PAGE_EVENTS });
      while (page.events.length === PAGE_EVENTS) {
        page = await store.readAll({ from: page.position, limit: PAGE_EVENTS });
      }
    };
    const perSecond = (work: () => Promise<void>) => async (): Promise<number> =>
      (events * SECOND_MS) / (await msOf(work));
    const metered = (): Promise<void> => cpu.during(rebuilding.rebuildAll, () => events);

    const rounds = Math.min(bench.rounds, ROUNDS_MAX);
    const figures = await interleave({ rounds, warmUps: 0 }, { limit: perSecond(readAll), ours: perSecond(metered) });
    return [
      {
        measure: `rebuilding ${PROJECTIONS.length} read models`,
        unit: 'events/s',
        rounds: figures.ours,
        limit: { what: 'reading the log', rounds: figures.limit },
        floor: FLOOR,
        cpuMicros: cpu.lastMicros(rounds),
      },
    ];
  },
};

/** Cost of the audit trees: processor time of this process without reading, and bytes in the database. */
export const auditTrees: Measure = {
  name: 'audit',
  run: async (bench) => {
    const { closers, logger } = bench;
    const { url, events } = await bench.corpus(CORPUS_EVENTS);
    const store = await openStore(bench, closers, url);
    const pool = createPool({ url, name: 'bench', logger, max: 4, statementTimeoutMs: 0 });
    closers.add('audit pool', () => pool.end());
    const cpuMicrosOf = async (work: () => Promise<unknown>): Promise<number> => {
      const before = process.cpuUsage();
      await work();
      const { user, system } = process.cpuUsage(before);
      return (user + system) / events;
    };
    const onlyRead = { ...auditProjection, name: 'reputation', tables: [], apply: async () => {} } as const;
    const rounds = Math.min(bench.rounds, ROUNDS_MAX);
    const figures = await interleave(
      { rounds, warmUps: 1 },
      {
        reading: () => cpuMicrosOf(() => rebuild({ pool, store, logger }, [onlyRead])),
        trees: () => cpuMicrosOf(() => rebuild({ pool, store, logger }, [auditProjection])),
      },
    );
    // Compacts the table first: only some hundred rows of the tail are live, and their space is reused however long the
    // log is.
    await pool.query('vacuum full read_models.audit_tail');
    const { rows } = await pool.query<{ bytes: number }>(
      "select sum(pg_total_relation_size('read_models.' || t))::float8 as bytes from unnest($1::text[]) t",
      [auditProjection.tables],
    );
    const own = figures.trees.map((micros, round) => micros - (figures.reading[round] ?? 0));
    return [
      { measure: 'audit trees, of an event', unit: 'µs', rounds: own, floor: { of: 'figure', atMost: 10 } },
      {
        measure: 'audit trees, of an event',
        unit: 'B/event',
        rounds: [(rows[0]?.bytes ?? 0) / events],
        floor: { of: 'figure', atMost: 200 },
      },
    ];
  },
};

/** Tests whether the cost of an event is independent of the log's length. */
export const rebuildLarge: Measure = {
  name: 'rebuild-large',
  run: async (bench) => {
    const small = await openRebuilding(bench, CORPUS_EVENTS);
    const large = await openRebuilding(bench, LARGE_EVENTS);
    const microsOf = (rebuilding: Rebuilding) => async (): Promise<number> =>
      ((await msOf(rebuilding.rebuildAll)) * MICROSECONDS) / rebuilding.events;
    const rounds = Math.min(bench.rounds, ROUNDS_MAX);
    const figures = await interleave({ rounds, warmUps: 0 }, { limit: microsOf(small), ours: microsOf(large) });
    return [
      {
        measure: 'rebuilding, cost of an event of 1,000,000',
        unit: 'µs',
        rounds: figures.ours,
        floor: FLAT,
        limit: { what: `of ${CORPUS_EVENTS.toLocaleString('en')}`, rounds: figures.limit },
      },
    ];
  },
};
