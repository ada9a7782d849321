import { describe, expect, test } from 'vitest';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { deliveriesProjection } from '../../../src/projections/deliveries/projection.ts';
import { createRecentlyQueued } from '../../../src/workers/delivery/due.ts';
import { openApplied } from '../../projections/support/applied.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { statuses, until } from '../delivering.ts';
import { openService } from '../service.ts';
import { insertRows, type Rows, START, sweepOver, takingQueue } from './sweeping.ts';

/** Runs the sweeper for this many of its seconds, over real rows that are never removed. */
const sweepFor = async (
  seconds: number,
  rows: Rows,
  isOneServer: boolean,
  has?: (messageId: string) => boolean,
): Promise<readonly string[]> => {
  const { pool } = await openApplied(deliveriesProjection);
  await insertRows(pool, rows);
  const taken: string[] = [];
  const queue = takingQueue(({ messageId }) => void taken.push(messageId));
  await sweepOver(pool, { queue, isOneServer, seconds, ...(has === undefined ? {} : { has }) });
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

  test.each([
    ['one destination, by one server', true, `'one.example'`],
    ['one destination', false, `'one.example'`],
  ])('offers a process its share alone, and all of it, for %s', async (_to, isOneServer, destination) => {
    const rows = { count: 1_200, destination };
    const has = (id: string): boolean => Number(id.slice(id.lastIndexOf('_') + 1)) > 900;
    const taken = await sweepFor(30, rows, isOneServer, has);
    expect(taken.every(has)).toBe(true);
    expect(new Set(taken).size).toBe(300);
  });

  test('leaves a full queue alone, and looks ten times a second whether it still is', async () => {
    const { pool } = await openApplied(deliveriesProjection);
    await insertRows(pool, { count: 10, destination: `'one.example'` });
    const taken: string[] = [];
    let looks = 0;
    const depth = async (): Promise<number> => {
      looks += 1;
      return 11;
    };
    const offered = takingQueue(({ messageId }) => void taken.push(messageId));
    await sweepOver(pool, { queue: { ...offered, depth }, isOneServer: true, seconds: 1 });
    expect(taken).toEqual([]);
    expect(looks).toBeGreaterThanOrEqual(2 * 10);
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
            return { due: bulk ? [] : [{ ...row, dueAt: acceptedAt }], next: '' };
          },
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
