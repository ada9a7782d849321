import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { type EventStore, LOG_START, type Position, PositionNotInLog } from '../../src/domain/kernel/event-store.ts';
import { apiKeysProjection } from '../../src/projections/api-keys.ts';
import { rebuild } from '../../src/projections/rebuild.ts';
import { silentLogger } from '../support/logger.ts';
import { appendKey, newStore } from './support/keys-log.ts';
import { caughtUp, openPool, startRunner } from './support/open.ts';

const PROJECTIONS = [apiKeysProjection];

/** Positions of the in-memory log are numbers of 16 digits. */
const BEYOND = '9'.repeat(16);

const keyIds = async (pool: Pool): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ keyId: string }>('select key_id as "keyId" from read_models.api_keys order by 1');
  return rows.map(({ keyId }) => keyId);
};

const checkpoint = async (pool: Pool): Promise<Position | undefined> => {
  const { rows } = await pool.query<{ position: Position }>('select position from read_models.checkpoints');
  return rows[0]?.position;
};

/**
 * The live read model has applied `key_0`. A rebuild reads the log for the last time, and then calls `beforeSwitch`.
 */
const openBeforeSwitch = async (beforeSwitch: (pool: Pool, store: EventStore) => Promise<void>) => {
  const pool = await openPool();
  const store = newStore();
  await appendKey(store, 'key_0');
  const runner = startRunner(pool, store, PROJECTIONS);
  expect(await caughtUp(pool, store, PROJECTIONS)).toBe(true);
  let reads = 0;
  const readAll: EventStore['readAll'] = async (options) => {
    if (options.from === BEYOND) throw new PositionNotInLog();
    const page = await store.readAll(options);
    reads += 1;
    // The first read fills the new tables. The second follows after their indexes have been created.
    if (reads === 2) {
      await beforeSwitch(pool, store);
      await runner.stop();
    }
    return page;
  };
  return { pool, store, rebuildOptions: { pool, store: { ...store, readAll }, logger: silentLogger } };
};

describe('a read model after the switch', () => {
  test('has every event that the live one applied after the rebuild read the log', async () => {
    const { pool, store, rebuildOptions } = await openBeforeSwitch(async (live, log) => {
      for (const keyId of ['key_1', 'key_2']) await appendKey(log, keyId);
      expect(await caughtUp(live, log, PROJECTIONS)).toBe(true);
      expect(await keyIds(live)).toEqual(['key_0', 'key_1', 'key_2']);
    });
    await rebuild(rebuildOptions, PROJECTIONS);
    expect(await keyIds(pool)).toEqual(['key_0', 'key_1', 'key_2']);
    expect(await checkpoint(pool)).toBe(await store.head());
  });

  test('stays at the position of the rebuild if the live one has applied nothing more', async () => {
    let readTo: Position = LOG_START;
    const { pool, store, rebuildOptions } = await openBeforeSwitch(async (_live, log) => {
      readTo = await log.head();
    });
    await rebuild(rebuildOptions, PROJECTIONS);
    expect(await keyIds(pool)).toEqual(['key_0']);
    expect(await checkpoint(pool)).toBe(readTo);
    await appendKey(store, 'key_1');
    startRunner(pool, store, PROJECTIONS);
    expect(await caughtUp(pool, store, PROJECTIONS)).toBe(true);
    expect(await keyIds(pool)).toEqual(['key_0', 'key_1']);
  });

  test.each([
    ['of another log', `update read_models.checkpoints set log_id = 'another', position = $1`],
    ['that the log does not reach', 'update read_models.checkpoints set position = $1'],
  ])('goes back from a position %s', async (_name, sql) => {
    const { pool, store, rebuildOptions } = await openBeforeSwitch(async (live) => {
      await live.query(sql, [BEYOND]);
    });
    await rebuild(rebuildOptions, PROJECTIONS);
    const { rows } = await pool.query('select position, log_id as "logId" from read_models.checkpoints');
    expect(rows).toEqual([{ position: await store.head(), logId: await store.logId() }]);
  });
});
