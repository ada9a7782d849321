import { createPool } from '../../src/lib/postgres/postgres.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { settle } from '../harness/durable-postgres.ts';
import { interleave } from '../harness/interleave.ts';
import { newSecretKey } from '../harness/open-api.ts';
import { openStore } from '../harness/open-store.ts';
import { fillLog } from '../harness/realistic-log.ts';
import { repeatLog } from '../harness/repeat-log.ts';
import { openWay, type Way } from '../harness/send-through.ts';
import { until } from '../harness/until.ts';

const SMALL_EVENTS = 100_000;
const LARGE_EVENTS = 1_000_000;
const HUGE_EVENTS = 10_000_000;
const FLAT = { of: 'ratio', atMost: 1.3 } as const;
const ROUNDS_MAX = 3;
/** Events generated individually. All others are copies of these. */
const GENERATED_EVENTS = 10_000;
const COPIED_MS_MAX = 3_600_000;
/** Time limit for the service to catch up with the prepared log. */
const LEVEL_MS_MAX = 7_200_000;

/** @returns the URL of a database whose log has about this many events. */
const growLog = async (bench: Bench, events: number): Promise<string> => {
  const { closers, postgres, logger, system } = bench;
  const url = await postgres.migratedDatabase(closers);
  const store = await openStore(bench, closers, url);
  await fillLog(store, system, GENERATED_EVENTS);
  const pool = createPool({ url, name: 'bench', logger, max: 1, statementTimeoutMs: COPIED_MS_MAX });
  closers.add('pool', () => pool.end());
  await repeatLog(pool, events);
  return url;
};

/** The whole program on such a log, with up-to-date read models. */
const openGrown = async (bench: Bench, events: number): Promise<Way> => {
  const url = await growLog(bench, events);
  const way = await openWay(bench, { variables: { DATABASE_URL: url, SECRET_KEY: newSecretKey(bench.system) } });
  const head = await way.service.head();
  await until('the read models', async () => (await way.service.projected()) >= head, LEVEL_MS_MAX);
  await settle(url);
  return way;
};

/** Processor time of service and database per message, in microseconds. */
const microsOf = (way: Way) => async (): Promise<number> => {
  await way.pass();
  const { service = 0, PostgreSQL = 0 } = way.cpu.lastMicros(1);
  return service + PostgreSQL;
};

const growthTo = (name: string, largeEvents: number, smallEvents: number): Measure => ({
  name,
  run: async (bench) => {
    const [small, large] = [await openGrown(bench, smallEvents), await openGrown(bench, largeEvents)];
    const rounds = Math.min(bench.rounds, ROUNDS_MAX);
    const figures = await interleave({ rounds, warmUps: 1 }, { ours: microsOf(large), limit: microsOf(small) });
    return [
      {
        measure: `a message from request to outcome, on a log of ${largeEvents.toLocaleString('en')} events`,
        unit: 'µs',
        rounds: figures.ours,
        floor: FLAT,
        limit: { what: `of ${smallEvents.toLocaleString('en')}`, rounds: figures.limit },
      },
    ];
  },
});

/** Tests whether the cost of a message is independent of the log's length. */
export const growth = growthTo('growth', LARGE_EVENTS, SMALL_EVENTS);
/** Takes half an hour and 40 GB. */
export const growthLarge = growthTo('growth-large', HUGE_EVENTS, LARGE_EVENTS);
