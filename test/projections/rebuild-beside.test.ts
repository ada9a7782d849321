import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import { apiKeysProjection } from '../../src/projections/api-keys.ts';
import { appendKey, LONG_AGO, newStore, until } from './support/keys-log.ts';
import { caughtUp, openPool, openReadModels, startRunner } from './support/open.ts';

const OLD = [apiKeysProjection];
const NEW = [{ ...apiKeysProjection, version: apiKeysProjection.version + 1 }];

const versionOf = async (pool: Pool): Promise<number | undefined> =>
  (await pool.query<{ version: number }>('select version from read_models.checkpoints')).rows[0]?.version;

/** A log in which a rebuild pauses after its first page until the test resumes it. */
const heldLog = (store: EventStore) => {
  const { promise: go, resolve: goOn } = Promise.withResolvers<void>();
  const { promise: held, resolve: isHeld } = Promise.withResolvers<void>();
  const readAll: EventStore['readAll'] = async (asked) => {
    const isBuild = asked.limit > 1;
    if (isBuild && asked.from !== '') {
      isHeld();
      await go;
    }
    return store.readAll(isBuild ? { ...asked, limit: 2 } : asked);
  };
  return { store: { ...store, readAll }, held, goOn };
};

describe('while a newer version builds a read model', () => {
  test('the older one, which still runs, keeps the live rows current until the switch', async () => {
    const pool = await openPool();
    const store = newStore();
    for (const id of ['key_0', 'key_1', 'key_2', 'key_3']) await appendKey(store, id);
    const older = startRunner(pool, store, OLD);
    expect(await caughtUp(pool, store, OLD)).toBe(true);
    const build = heldLog(store);
    startRunner(pool, build.store, NEW);
    await build.held;
    await appendKey(store, 'key_4');
    expect(await caughtUp(pool, store, OLD)).toBe(true);
    expect(await versionOf(pool)).toBe(apiKeysProjection.version);
    build.goOn();
    expect(await until(async () => (await versionOf(pool)) === NEW[0]?.version)).toBe(true);
    await appendKey(store, 'key_5');
    expect(await caughtUp(pool, store, NEW)).toBe(true);
    expect(older.ended()).toBeNull();
    const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from read_models.api_keys');
    expect(rows[0]?.n).toBe(6);
  });

  test('its progress can be read in any process, and until when the live rows are complete', async () => {
    const pool = await openPool();
    const store = newStore();
    for (const id of ['key_0', 'key_1', 'key_2', 'key_3']) await appendKey(store, id);
    const older = startRunner(pool, store, OLD);
    expect(await caughtUp(pool, store, OLD)).toBe(true);
    await older.stop();
    const { rebuilds, completeUntil } = openReadModels(pool, store);
    expect(await rebuilds()).toEqual([]);
    const build = heldLog(store);
    startRunner(pool, build.store, NEW);
    await build.held;
    await appendKey(store, 'key_4', undefined, '2026-02-01T00:00:00.000Z');
    expect(await until(async () => ((await rebuilds())[0]?.part ?? 0) > 0)).toBe(true);
    expect(await rebuilds()).toEqual([{ name: 'api-keys', part: 2 / 5 }]);
    expect(await completeUntil(['api-keys'])).toBe(LONG_AGO);
    expect(await completeUntil(['api-keys', 'messages'])).toBeNull();
    build.goOn();
    expect(await caughtUp(pool, store, NEW)).toBe(true);
    expect(await until(async () => (await rebuilds()).length === 0)).toBe(true);
  });
});
