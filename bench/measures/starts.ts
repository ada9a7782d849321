import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Closers, createClosers } from '../../src/composition/lifecycle.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import type { Contents } from '../../src/domain/ports/contents.ts';
import { createEventStoreDbEventStore } from '../../src/lib/event-log/eventstoredb.ts';
import { createPool } from '../../src/lib/postgres/postgres.ts';
import { startProgram } from '../../test/support/program.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { openChild } from '../harness/child.ts';
import { guard } from '../harness/guard.ts';
import { interleave } from '../harness/interleave.ts';
import type { Line } from '../harness/line.ts';
import { openStore } from '../harness/open-store.ts';
import { fillLog } from '../harness/realistic-log.ts';
import { repeatLog } from '../harness/repeat-log.ts';
import type { DoubleInput } from '../processes/eventstoredb-double.ts';

const SMALL_EVENTS = 3_000;
const LARGE_EVENTS = 300_000;
const SECONDS_MAX = { of: 'figure', atMost: 5 } as const;
const ROUNDS_MAX = 3;
const SECOND_MS = 1_000;
const SECRET_KEY = 'a secret of nothing, 32 characters or more';
/** Costs at which reading the larger log to its end takes ten seconds. */
const COSTS: DoubleInput = { callMs: 2, readsAtOnce: 8, scannedPerSecond: 30_000 };

const noContents: Contents = { put: async () => {}, get: async () => new Map(), heads: async () => new Map() };

/** A service with its log. */
interface Service {
  /** Starts and stops the whole program. @returns seconds until it was ready. */
  start(): Promise<number>;
  /** Adds messages until the log holds this many events. */
  grow(events: number): Promise<void>;
}

type Pool = ReturnType<typeof createPool>;

const growPostgres = async (bench: Bench, pool: Pool, store: EventStore, events: number): Promise<void> => {
  await fillLog(store, bench.system, SMALL_EVENTS);
  await repeatLog(pool, events);
};

/**
 * Moves the read models to a position as if they had read everything before it. Message rows are missing: only the log
 * is large.
 */
const passOver = async (pool: Pool, position: string): Promise<void> => {
  await pool.query('update read_models.checkpoints set position = $1', [position]);
  await pool.query('update vault.webhook_recording set position = $1', [position]);
};

type Engine = 'PostgreSQL' | 'EventStoreDB';

const openStoreOf = async (bench: Bench, closers: Closers, databaseUrl: string, url: string): Promise<EventStore> => {
  if (url === '') return openStore(bench, closers, databaseUrl);
  const { system, logger } = bench;
  const store = createEventStoreDbEventStore({
    connectionString: url,
    setting: 'EVENTSTORE_URL',
    codec: eventCodec,
    contents: noContents,
    system,
    logger,
  });
  closers.add('event store', store.close);
  return store;
};

const openService = async (bench: Bench, engine: Engine, name: string): Promise<Service> => {
  const { closers, folder, postgres, logger } = bench;
  const dataDir = join(folder, `starts-${engine}-${name}`);
  await mkdir(dataDir, { mode: 0o755 });
  const databaseUrl = await postgres.migratedDatabase(closers);
  const double =
    engine === 'EventStoreDB'
      ? await openChild<{ readonly url: string }>(closers, { name: 'eventstoredb-double', input: COSTS })
      : null;
  const url = double?.facts.url ?? '';
  const env = { DATABASE_URL: databaseUrl, EVENTSTORE_URL: url, SECRET_KEY, LOG_LEVEL: 'error' };
  return {
    start: async () => {
      const program = await startProgram({ dataDir, env });
      guard(closers, { pid: program.child.pid ?? 0, signal: 'TERM', folders: [] });
      await program.end('SIGTERM');
      return program.readyAfterMs / SECOND_MS;
    },
    grow: async (events) => {
      const meanwhile = createClosers(logger);
      try {
        const store = await openStoreOf(bench, meanwhile, databaseUrl, url);
        const pool = createPool({ url: databaseUrl, name: 'bench', logger, max: 1, statementTimeoutMs: 0 });
        meanwhile.add('pool', () => pool.end());
        if (double === null) await growPostgres(bench, pool, store, events);
        else await double.ask('fill', events);
        await passOver(pool, await store.head());
      } finally {
        await meanwhile.closeAll();
      }
    },
  };
};

/** A service whose first start was long ago. */
const grown = async (bench: Bench, engine: Engine, events: number): Promise<Service> => {
  const service = await openService(bench, engine, String(events));
  await service.start();
  await service.grow(events);
  return service;
};

/** Tests whether the time of a start is independent of the log's length. */
export const starts: Measure = {
  name: 'starts',
  run: async (bench) => {
    const lines: Line[] = [];
    const rounds = Math.min(bench.rounds, ROUNDS_MAX);
    for (const engine of ['PostgreSQL', 'EventStoreDB'] as const) {
      const [large, small] = [await grown(bench, engine, LARGE_EVENTS), await grown(bench, engine, SMALL_EVENTS)];
      const figures = await interleave({ rounds, warmUps: 1 }, { ours: large.start, limit: small.start });
      lines.push({
        measure: `start on a log of ${LARGE_EVENTS.toLocaleString('en')} events, ${engine}`,
        unit: 's',
        rounds: figures.ours,
        floor: SECONDS_MAX,
        limit: { what: `of ${SMALL_EVENTS.toLocaleString('en')}`, rounds: figures.limit },
      });
    }
    return lines;
  },
};
