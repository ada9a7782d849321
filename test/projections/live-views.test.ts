import { readdirSync, readFileSync } from 'node:fs';
import type { Pool } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { createKeyCacheProjection, KEY_CACHE_CATEGORIES } from '../../src/domain/api-key/key-cache-projection.ts';
import { destination, destinationEvents } from '../../src/domain/destination/suspension.ts';
import type { Aggregate } from '../../src/domain/kernel/aggregate.ts';
import { type EventStore, LOG_START, readFamilies } from '../../src/domain/kernel/event-store.ts';
import type { OutboxEvent } from '../../src/domain/kernel/events.ts';
import { reputation, reputationEvents } from '../../src/domain/reputation/reputation.ts';
import { domainRecords } from '../../src/domain/sending-domain/domain-records.ts';
import { domainRecordsEvents } from '../../src/domain/sending-domain/events.ts';
import { liveViewsProjection, withCopyForFolding } from '../../src/projections/live-views.ts';
import { keyCreated, keyRevoked, keyRotated } from '../support/controls/api-key.ts';
import { silentLogger } from '../support/logger.ts';
import { contextAt } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';
import { createHistory } from './support/history.ts';
import { caughtUp, openPool, startRunner } from './support/open.ts';

const LATER = '2026-11-22T12:00:00.000Z';
const filter = { categories: KEY_CACHE_CATEGORIES };

/** The store as a starting process sees it, and a spy on its reads of the log. */
const starting = (log: EventStore, pool: Pool) => {
  const readAll = vi.fn(log.readAll);
  return { readAll, store: withCopyForFolding({ store: { ...log, readAll }, db: pool, logger: silentLogger }) };
};

/** A created and rotated key, and a copy up to that point. */
const openCopied = async () => {
  const applied = await openApplied(liveViewsProjection);
  await applied.given('apiKey-key_1', [keyCreated()]);
  await applied.given('apiKey-key_1', [keyRotated(1, LATER)]);
  return { ...applied, ...starting(applied.store, applied.pool), log: applied.store };
};

const typesOf = async (store: EventStore): Promise<readonly string[]> =>
  (await store.readAll({ filter, limit: 100, folded: true })).events.map(({ type }) => type);

/** All data in the key cache. */
const keyCacheOf = async (store: EventStore) => {
  const keyCache = createKeyCacheProjection();
  for await (const { events } of readFamilies(store, { ...filter, to: await store.head() })) {
    for (const event of events) keyCache.apply(event);
  }
  return [keyCache.organizations, keyCache.domains, keyCache.records, keyCache.keys];
};

describe('a start', () => {
  test('folds the same state as from the log, and does not read copied events from the log', async () => {
    const history = await createHistory();
    await history.go(300);
    const pool = await openPool();
    startRunner(pool, history.store, [liveViewsProjection]);
    expect(await caughtUp(pool, history.store, [liveViewsProjection])).toBe(true);
    const { store, readAll } = starting(history.store, pool);
    expect(await keyCacheOf(store)).toEqual(await keyCacheOf(history.store));
    expect(readAll).not.toHaveBeenCalled();
  });

  test('reads the log from where the copy ends', async () => {
    const { store, readAll, log, given, lastBatch } = await openCopied();
    const { position } = lastBatch();
    await log.append({
      stream: 'apiKey-key_1',
      expected: 1,
      context: contextAt(LATER),
      events: [{ ...keyRevoked, id: '5b0f7a5e-60ab-4f0e-8d18-7a3a5b1e3a11' }],
    });
    expect(await keyCacheOf(store)).toEqual(await keyCacheOf(log));
    expect(readAll.mock.calls.map(([{ from }]) => from)).toEqual([position]);
    await given('apiKey-key_2', [keyCreated({ keyId: 'key_2' })]);
    expect(await typesOf(store)).toEqual(['KeyCreated', 'KeyRotated', 'KeyRevoked', 'KeyCreated']);
  });

  test('reads the copy page by page', async () => {
    const { store } = await openCopied();
    const first = await store.readAll({ filter, limit: 1, folded: true });
    expect(first.events.map(({ type }) => type)).toEqual(['KeyCreated']);
    const second = await store.readAll({ from: first.position, filter, limit: 1, folded: true });
    expect(second.events.map(({ type }) => type)).toEqual(['KeyRotated']);
  });

  test('reads the log if the caller needs every event, or families that are not copied', async () => {
    const { store, readAll } = await openCopied();
    await store.readAll({ filter, limit: 100 });
    await store.readAll({ filter: { categories: ['apiKey', 'message'] }, limit: 100, folded: true });
    await store.readAll({ limit: 100, folded: true });
    expect(readAll).toHaveBeenCalledTimes(3);
  });

  const UNFIT: Readonly<Record<string, string>> = {
    'of another log': `update read_models.checkpoints set log_id = 'another'`,
    'of another version': 'update read_models.checkpoints set version = 0',
    'that has parked events': `insert into read_models.parked_events
      values ('live-views', '1', 'apiKey-key_1', 2, 'KeyRevoked', 'poison', now())`,
    'that has lost rows': `delete from read_models.live_view_events where type = 'KeyCreated'`,
    'that has lost all of its rows': 'truncate read_models.live_view_events',
    'whose tables are gone': 'drop table read_models.live_view_events',
    'of a database without read models': 'drop schema read_models cascade',
  };
  test.each(Object.entries(UNFIT))('folds the log itself despite a copy %s', async (_name, statement) => {
    const { store, readAll, pool } = await openCopied();
    await pool.query(statement);
    expect(await typesOf(store)).toEqual(['KeyCreated', 'KeyRotated']);
    expect(readAll.mock.calls.map(([{ from = LOG_START }]) => from)).toEqual([LOG_START]);
  });
});

describe('the copy', () => {
  test('keeps only the last suspension of a destination, however many there were', async () => {
    const { given, pool } = await openApplied(liveViewsProjection);
    for (let times = 1; times <= 5; times += 1) {
      await given('destination-example.net', [
        {
          ...sampleOf('DestinationSuspended'),
          data: { ...sampleOf('DestinationSuspended').data, times },
        } as OutboxEvent,
      ]);
    }
    const { rows } = await pool.query(
      `select data::json->>'times' as times, revision from read_models.live_view_events`,
    );
    expect(rows).toEqual([{ times: '5', revision: 4 }]);
    expect((await pool.query('select events from read_models.live_view_size')).rows).toEqual([{ events: '1' }]);
  });

  const FAMILIES: readonly (readonly [string, Aggregate<unknown, OutboxEvent>, readonly string[]])[] = [
    ['destinations', destination as Aggregate<unknown, OutboxEvent>, Object.keys(destinationEvents)],
    ['records of domains', domainRecords as Aggregate<unknown, OutboxEvent>, Object.keys(domainRecordsEvents)],
    ['reputation', reputation as Aggregate<unknown, OutboxEvent>, Object.keys(reputationEvents)],
  ];
  test.each(FAMILIES)('omits no event of %s that their state depends on', (_name, aggregate, types) => {
    for (const sequence of sequencesOf(types, 3)) {
      const events = sequence.map((type, index) => ({ event: sampleOf(type), at: `2026-11-2${index}T00:00:00.000Z` }));
      const kept = events.filter(
        ({ event }, index) => events.findLastIndex((e) => e.event.type === event.type) === index,
      );
      expect(foldOf(aggregate, kept)).toEqual(foldOf(aggregate, events));
    }
  });
});

interface At {
  readonly event: OutboxEvent;
  readonly at: string;
}

const foldOf = (aggregate: Aggregate<unknown, OutboxEvent>, events: readonly At[]): unknown =>
  events.reduce((state, { event, at }) => aggregate.evolve(state, event, contextAt(at)), aggregate.initial);

/** Every sequence of up to `length` of these types. */
const sequencesOf = (types: readonly string[], length: number): readonly (readonly string[])[] =>
  length === 0
    ? [[]]
    : sequencesOf(types, length - 1).flatMap((before) => [before, ...types.map((type) => [...before, type])]);

const FIXTURES = new URL('../fixtures/events/', import.meta.url);

/** The newest version of an event in the permanent fixtures. */
const sampleOf = (type: string): OutboxEvent => {
  const file = readdirSync(FIXTURES)
    .filter((name) => new RegExp(`^${type}\\.v\\d+\\.json$`).test(name))
    .sort()
    .at(-1);
  return { type, data: JSON.parse(readFileSync(new URL(file ?? '', FIXTURES), 'utf8')) } as OutboxEvent;
};
