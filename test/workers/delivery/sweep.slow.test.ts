import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import type { NewJob } from '../../../src/domain/ports/queue.ts';
import { GOOD_REPUTATION } from '../../../src/domain/reputation/reputation.ts';
import { deliveriesProjection } from '../../../src/projections/deliveries/projection.ts';
import {
  dueByDestination,
  dueDeliveries,
  heldMail,
  holdersOfMail,
} from '../../../src/projections/deliveries/queries.ts';
import { createRecentlyQueued, type DeliveryJob, type DeliveryQueue } from '../../../src/workers/delivery/due.ts';
import { createFindReleased } from '../../../src/workers/delivery/released.ts';
import { sweepDeliveries } from '../../../src/workers/delivery/sweep.ts';
import { openApplied } from '../../projections/support/applied.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { statuses, until } from '../delivering.ts';
import { openService } from '../service.ts';

const START = '2026-01-01T00:00:00.000Z';

/** A queue whose workers take added jobs immediately. */
const takingQueue = (taken: string[]): DeliveryQueue => ({
  add: async (jobs: readonly NewJob<DeliveryJob>[]) => {
    taken.push(...jobs.flatMap(({ data }) => data.due.map(({ messageId }) => messageId)));
  },
  depth: async () => 0,
  counts: async () => ({ waiting: 0, active: 0 }),
  work: () => undefined,
  close: async () => undefined,
});

/** A clock that only advances during sleeps. */
const createSleepingSystem = () => {
  const system = createSteppableSystem({ start: START });
  let sleptMs = 0;
  return {
    ...system,
    now: () => new Date(Date.parse(START) + sleptMs),
    monotonicMs: () => sleptMs,
    sleep: async (ms: number) => {
      sleptMs += ms;
    },
  };
};

interface Rows {
  readonly count: number;
  /** SQL expression for row `n`. */
  readonly destination: string;
  readonly heldBy?: string;
}

const insert = (pool: Pool, { count, destination, heldBy }: Rows) =>
  pool.query(`
    insert into read_models.deliveries
      (message_id, destination, environment, bulk, due_at, held_by, expires_at, recipients)
    select 'msg_' || n, ${destination}, 'live', ${heldBy !== undefined},
      timestamptz '${START}' ${heldBy === undefined ? "- interval '1 hour' + (n / 10) * interval '1 ms'" : "+ interval '9 days'"},
      ${heldBy === undefined ? 'null' : `'${heldBy}'`}, timestamptz '${START}' + interval '40 days', '[]'
    from generate_series(1, ${count}) n`);

/** Runs the sweeper for this many of its seconds, over real rows that are never removed. */
const sweepFor = async (seconds: number, rows: Rows, isOneServer: boolean): Promise<readonly string[]> => {
  const { pool } = await openApplied(deliveriesProjection);
  await insert(pool, rows);
  const system = createSleepingSystem();
  const taken: string[] = [];
  const sweep = sweepDeliveries({
    timetable: {
      due: (ask) => dueDeliveries(pool, ask),
      dueByDestination: (ask) => dueByDestination(pool, ask),
    },
    queues: { transactional: takingQueue(taken), bulk: takingQueue(taken) },
    ...(isOneServer ? {} : { destinations: { providerOf: async (domain: string) => domain } }),
    released: createFindReleased({
      heldMail: { holders: (ask) => holdersOfMail(pool, ask), held: (ask) => heldMail(pool, ask) },
      sendingHolds: { reputationOf: () => GOOD_REPUTATION },
      suspensionHolds: { keeps: () => false },
      warmUpHolds: { keeps: () => false, offered: () => undefined },
      sendingDomains: { isDeleted: () => false },
      isOneServer,
    }),
    recentlyQueued: createRecentlyQueued(system),
    destinationQueues: { saturated: () => [] },
    leadership: { isLeader: () => true },
    system,
  });
  const over = new AbortController();
  await sweep(over.signal, () => {
    if (system.monotonicMs() >= seconds * 1000) over.abort();
  });
  return taken;
};

const missingOf = (taken: readonly string[], count: number): number => count - new Set(taken).size;

describe('the sweep, while read models do not advance and no row disappears,', () => {
  test.each([
    ['any destination, by one server', true, `'d' || n % 7 || '.example'`],
    ['one destination', false, `'one.example'`],
    ['a few destinations', false, `'d' || n % 7 || '.example'`],
  ])('offers a whole backlog for %s', async (_to, isOneServer, destination) => {
    const rows = { count: 5_000, destination };
    expect(missingOf(await sweepFor(isOneServer ? 3 : 40, rows, isOneServer), rows.count)).toBe(0);
  });

  test.each([
    ['one destination, by one server', true, `'one.example'`],
    ['one destination', false, `'one.example'`],
    ['a few destinations', false, `'d' || n % 7 || '.example'`],
  ])('offers all mail that was held and is released, for %s', async (_to, isOneServer, destination) => {
    const rows = { count: 1_200, destination, heldBy: 'dom_1' };
    expect(missingOf(await sweepFor(15, rows, isOneServer), rows.count)).toBe(0);
  });

  test('queues lost jobs again after four seconds', async () => {
    const taken = await sweepFor(9, { count: 3_000, destination: `'one.example'` }, true);
    const times = Map.groupBy(taken, (id) => id);
    expect(Math.min(...[...times.values()].map(({ length }) => length))).toBeGreaterThanOrEqual(2);
  });
});

describe('a row that the log contradicts', () => {
  test('is left alone for a minute, unless it changes or a release makes it due', () => {
    let ms = 0;
    const recentlyQueued = createRecentlyQueued({ monotonicMs: () => ms, now: () => new Date(Date.parse(START) + ms) });
    const due = { messageId: 'msg_1', destination: null };
    recentlyQueued.addNotDue(due, START);
    expect(recentlyQueued.has(due, START)).toBe(true);
    expect(recentlyQueued.has(due, '2026-01-01T00:00:00.001Z')).toBe(false);
    expect(recentlyQueued.has(due, '')).toBe(false);
    ms = 59_999;
    expect(recentlyQueued.has(due, START)).toBe(true);
    ms = 60_001;
    expect(recentlyQueued.has(due, START)).toBe(false);
  });

  test('is reported by the workers: it is attempted once', async () => {
    const service = closedAfterTest(await openService());
    const messageId = await service.send('ann@example.org', 'test');
    const { store } = service.dependencies;
    const { acceptedAt } = await service.message(messageId);
    const row = { messageId, destination: 'example.org', environment: 'test' as const, expiresAt: '9999' };
    let aheadMs = 0;
    let reads = 0;
    let sweeps = 0;
    service
      .workers({
        store: {
          ...store,
          readStream: (stream, options) => {
            if (stream === messageStream(messageId)) reads += 1;
            return store.readStream(stream, options);
          },
        },
        system: { ...service.system, monotonicMs: () => service.system.monotonicMs() + aheadMs },
        timetable: {
          due: async ({ bulk }) => {
            sweeps += 1;
            return bulk ? [] : [{ ...row, dueAt: acceptedAt }];
          },
          dueByDestination: async () => ({ due: [], next: '' }),
        },
      })
      .start();
    await until(async () => expect(await statuses(service, messageId)).toEqual(['delivered']));
    const readsOfDelivery = reads;
    aheadMs = 5_000; // the sweeper no longer assumes that it is queued
    await until(() => expect(reads).toBe(readsOfDelivery + 1));
    aheadMs = 10_000;
    const sweepsBefore = sweeps;
    await until(() => expect(sweeps).toBeGreaterThanOrEqual(sweepsBefore + 6)); // two complete sweeps of each class
    expect(reads).toBe(readsOfDelivery + 1);
  });
});
