import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import { makeTables, switchTables } from '../../src/lib/projections/projections.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { rebuild } from '../../src/projections/runner.ts';
import { keyCreated } from '../support/controls/api-key.ts';
import { silentLogger } from '../support/logger.ts';
import { createHistory } from './support/history.ts';
import { appendKey, newStore, until } from './support/keys-log.ts';
import { openLiveHistory } from './support/live-history.ts';
import { caughtUp, openPool, startRunner } from './support/open.ts';
import { allRows } from './support/read-model-rows.ts';
import { tampered } from './support/tampered.ts';

/** Page size of a rebuild. */
const PAGE_EVENTS = 5_000;
const OLD_VERSIONS = 'select from read_models.checkpoints where version < 1000';

describe('a rebuild with failures', () => {
  test('applies no further page after it is aborted', async () => {
    const pool = await openPool();
    const store = newStore();
    for (let key = 0; key < PAGE_EVENTS + 10; key += 1) await appendKey(store, `key_${key}`);
    const ending = new AbortController();
    let pages = 0;
    const readAll: EventStore['readAll'] = async (options) => {
      pages += 1;
      return store.readAll(options);
    };
    const slow = tampered(async () => {
      await until(() => pages === 2);
      ending.abort();
    });
    const options = { pool, store: { ...store, readAll }, logger: silentLogger, signal: ending.signal };
    await expect(rebuild(options, [slow])).rejects.toThrow('aborted');
    const { rows } = await pool.query(`select position from read_models_building.checkpoints where name = $1`, [
      slow.name,
    ]);
    expect(Number(rows[0].position)).toBe(PAGE_EVENTS);
  });

  test('reads before it has tables to fill, and one page ahead of what is applied', async () => {
    const pool = await openPool();
    const store = newStore();
    for (let key = 0; key < PAGE_EVENTS + 10; key += 1) await appendKey(store, `key_${key}`);
    let asked = 0;
    const hasApplied = Promise.withResolvers<void>();
    const readAll: EventStore['readAll'] = async (options) => {
      asked += 1;
      return store.readAll(options);
    };
    const waiting = tampered(() => hasApplied.promise);
    const client = await pool.connect();
    await client.query('begin; lock table read_models_building.checkpoints in access exclusive mode');
    const rebuilding = rebuild({ pool, store: { ...store, readAll }, logger: silentLogger }, [waiting]);
    expect(await until(() => asked === 1)).toBe(true);
    await client.query('rollback');
    client.release();
    expect(await until(() => asked === 2)).toBe(true);
    hasApplied.resolve();
    await rebuilding;
  });

  test('ends at the head that the log had when it began, although events keep arriving', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_0');
    let read = 0;
    const readAll: EventStore['readAll'] = async (options) => {
      read += 1;
      const page = await store.readAll(options);
      await appendKey(store, `key_${read}`);
      return page;
    };
    await rebuild({ pool, store: { ...store, readAll }, logger: silentLogger }, [tampered(async () => undefined)]);
    expect(read).toBeLessThan(10);
  });

  test('fails as a whole when one read model fails, and keeps the live rows', async () => {
    const { pool, history } = await openLiveHistory(50);
    const live = await allRows(pool);
    const failing = tampered(() => {
      throw new Error('no room');
    });
    const projections = PROJECTIONS.map((projection) => (projection.name === failing.name ? failing : projection));
    await expect(rebuild({ pool, store: history.store, logger: silentLogger }, projections)).rejects.toThrow('no room');
    expect(await allRows(pool)).toEqual(live);
  });

  test('completes if the live read model is past the last event of the service', async () => {
    const pool = await openPool();
    const history = await createHistory();
    await history.go(30);
    const options = { pool, store: history.store, logger: silentLogger };
    await rebuild(options, PROJECTIONS);
    const BEYOND = '9999999999999999';
    await pool.query('update read_models.checkpoints set position = $1', [BEYOND]);
    const rebuilt = await rebuild(options, PROJECTIONS);
    expect(rebuilt).toHaveLength(PROJECTIONS.length);
    const { rows } = await pool.query('select distinct position from read_models.checkpoints');
    expect(rows).toEqual([{ position: BEYOND }]);
  });

  test('never moves a read model back in time', async () => {
    const pool = await openPool();
    const history = await createHistory();
    await history.go(30);
    const latest = '2099-01-01T00:00:00.000Z';
    await appendKey(history.store, 'key_last', keyCreated({ keyId: 'key_last' }), latest);
    startRunner(pool, history.store);
    expect(await caughtUp(pool, history.store)).toBe(true);
    const ages = async () =>
      (await pool.query(`select name, occurred_at from read_models.checkpoints order by name`)).rows;
    const before = await ages();
    expect(before.map(({ occurred_at }) => occurred_at.toISOString())).toEqual(PROJECTIONS.map(() => latest));
    for (const one of PROJECTIONS) await rebuild({ pool, store: history.store, logger: silentLogger }, [one]);
    expect(await ages()).toEqual(before);
  });

  test('does not switch tables that another process has begun to rebuild', async () => {
    const { pool, history } = await openLiveHistory(30);
    const live = await allRows(pool);
    const logId = await history.store.logId();
    for (const projection of PROJECTIONS) {
      await makeTables(pool, projection, 'read_models_building');
      await pool.query(
        `insert into read_models_building.checkpoints (name, version, log_id, position) values ($1, 1, $2, '')`,
        [projection.name, logId],
      );
      expect(await switchTables(pool, projection, await history.store.head())).toBe(false);
    }
    expect(await allRows(pool)).toEqual(live);
  });

  test('starts automatically, even if the database is away in the middle of it', async () => {
    const { pool, history, runner: first } = await openLiveHistory(30);
    await first.stop();
    const newer = PROJECTIONS.map((projection) => ({ ...projection, version: projection.version + 1000 }));
    let isAway = false;
    let failures = 0;
    const readAll: EventStore['readAll'] = async (options) => {
      if (failures === 0) isAway = true;
      if (isAway) throw new Error('the log is away');
      return history.store.readAll(options);
    };
    /** Queries on the pool decide whether a rebuild is needed. */
    const query = async (...given: Parameters<Pool['query']>): Promise<unknown> => {
      if (!isAway) return pool.query(...given);
      failures += 1;
      isAway = failures < 3;
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const flaky = new Proxy(pool, {
      get: (target, name) => {
        if (name === 'query') return query;
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const second = startRunner(flaky, { ...history.store, readAll }, newer);
    expect(await until(async () => (await pool.query(OLD_VERSIONS)).rowCount === 0)).toBe(true);
    expect(await caughtUp(pool, history.store, newer)).toBe(true);
    expect(failures).toBe(3);
    expect(second.ended()).toBeNull();
  });
});
