import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { type EventStore, LOG_START, type Position, PositionNotInLog } from '../../src/domain/kernel/event-store.ts';
import { RebuildInProgress } from '../../src/lib/projections/projections.ts';
import { END_ANALYSES } from '../../src/projections/analytics.ts';
import { apiKeysProjection } from '../../src/projections/api-keys.ts';
import type { Projection } from '../../src/projections/projection.ts';
import { rebuild } from '../../src/projections/runner.ts';
import { topicsProjection } from '../../src/projections/topics.ts';
import { silentLogger } from '../support/logger.ts';
import { appendKey, newStore, until } from './support/keys-log.ts';
import { caughtUp, openPool, startRunner } from './support/open.ts';
import { tampered } from './support/tampered.ts';

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

/** Attempts to switch, while queries hold the live tables. */
const ATTEMPTS_MAX = 10;

/** A pool whose first attempts to switch fail like this. `before` is called at each attempt. */
const failingSwitch = (pool: Pool, codes: (string | undefined)[], before: (attempt: number) => Promise<unknown>) => {
  let attempts = 0;
  const queries: string[] = [];
  const connect = async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as (...asked: unknown[]) => Promise<unknown>;
    const failing = async (text: unknown, ...more: unknown[]) => {
      if (typeof text === 'string' && text.includes('for update') && text.includes('read_models.checkpoints')) {
        attempts += 1;
        await before(attempts);
        const code = codes.shift();
        if (code !== undefined) throw Object.assign(new Error('the tables are in use'), { code });
      }
      return query(text, ...more);
    };
    return Object.assign(client, { query: failing });
  };
  const failingPool = Object.assign(Object.create(pool), {
    connect,
    query: (text: string, ...more: never[]) => {
      queries.push(text);
      return pool.query(text, ...more);
    },
  }) as Pool;
  return {
    failingPool,
    attempts: () => attempts,
    endings: () => queries.filter((text) => text === END_ANALYSES).length,
  };
};

describe('a switch', () => {
  const openRebuild = async (codes: (string | undefined)[], before: (attempt: number) => Promise<unknown>) => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_0');
    const failing = failingSwitch(pool, codes, before);
    const options = { pool: failing.failingPool, store, logger: silentLogger };
    return { ...failing, pool, store, rebuild: () => rebuild(options, PROJECTIONS) };
  };

  test.each([
    ['hold its tables', '55P03'],
    ['deadlock with it', '40P01'],
  ])('is repeated up to ten times while queries %s, and analyses are ended', async (_, code) => {
    const { rebuild, pool, attempts, endings } = await openRebuild(Array(ATTEMPTS_MAX - 1).fill(code), async () => {});
    expect(await rebuild()).toEqual([{ name: 'api-keys', events: 1, parkedEvents: 0 }]);
    expect([attempts(), endings(), await keyIds(pool)]).toEqual([ATTEMPTS_MAX, ATTEMPTS_MAX - 1, ['key_0']]);
  });

  test('fails after ten attempts, and the live rows stay', async () => {
    const { rebuild, pool, attempts } = await openRebuild(Array(ATTEMPTS_MAX + 1).fill('55P03'), async () => {});
    await expect(rebuild()).rejects.toMatchObject({ code: '55P03' });
    expect([attempts(), await keyIds(pool)]).toEqual([ATTEMPTS_MAX, []]);
  });

  test('is not repeated after any other fault', async () => {
    const { rebuild, attempts } = await openRebuild(['57014'], async () => {});
    await expect(rebuild()).rejects.toMatchObject({ code: '57014' });
    expect(attempts()).toBe(1);
  });

  test('lets others pass after two seconds, and is repeated', async () => {
    const query = { end: async (): Promise<unknown> => undefined };
    const { rebuild, pool, attempts } = await openRebuild([], (attempt) =>
      attempt === 2 ? query.end() : Promise.resolve(),
    );
    const reader = await pool.connect();
    await reader.query('begin');
    await reader.query('select count(*) from read_models.api_keys');
    query.end = () => reader.query('commit');
    await rebuild();
    reader.release();
    expect([attempts(), await keyIds(pool)]).toEqual([2, ['key_0']]);
  });

  test('reads events that arrive between two attempts', async () => {
    const log = { append: async (_attempt: number): Promise<unknown> => undefined };
    const { rebuild, pool, store } = await openRebuild(['55P03', '55P03'], (attempt) => log.append(attempt));
    log.append = (attempt) => (attempt < 3 ? appendKey(store, `key_${attempt}`) : Promise.resolve());
    await rebuild();
    expect(await keyIds(pool)).toEqual(['key_0', 'key_1', 'key_2']);
    expect(await checkpoint(pool)).toBe(await store.head());
  });

  test('is refused if another process has begun to rebuild the same tables', async () => {
    const other = { begin: async (): Promise<unknown> => undefined };
    const { rebuild, pool } = await openRebuild([], () => other.begin());
    other.begin = () => pool.query('delete from read_models_building.checkpoints');
    await expect(rebuild()).rejects.toBeInstanceOf(RebuildInProgress);
    expect(await keyIds(pool)).toEqual([]);
  });
});

test('a rebuild reads events that arrive while it makes the indexes, and counts them', async () => {
  const pool = await openPool();
  const store = newStore();
  await appendKey(store, 'key_0');
  let reads = 0;
  const readAll: EventStore['readAll'] = async (options) => {
    const page = await store.readAll(options);
    reads += 1;
    if (reads === 1) await appendKey(store, 'key_1');
    return page;
  };
  const rebuilt = await rebuild({ pool, store: { ...store, readAll }, logger: silentLogger }, PROJECTIONS);
  expect(rebuilt).toEqual([{ name: 'api-keys', events: 2, parkedEvents: 0 }]);
  expect(await keyIds(pool)).toEqual(['key_0', 'key_1']);
});

test('a rebuild that fails for one read model applies no further page to another', async () => {
  const pool = await openPool();
  const store = newStore();
  for (let key = 0; key < 5; key += 1) await appendKey(store, `key_${key}`);
  const readAll: EventStore['readAll'] = (options) => store.readAll({ ...options, limit: 1 });
  const failing = tampered(() => {
    throw new Error('no room');
  });
  /** Only the other one is in a transaction: that of the failing one was rolled back. */
  const hasFailed = async (): Promise<boolean> => {
    const { rowCount } = await pool.query(
      "select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
    );
    return rowCount === 1;
  };
  let pages = 0;
  const other: Projection = {
    ...topicsProjection,
    categories: apiKeysProjection.categories,
    apply: async () => {
      pages += 1;
      expect(await until(hasFailed)).toBe(true);
    },
  };
  const options = { pool, store: { ...store, readAll }, logger: silentLogger };
  await expect(rebuild(options, [failing, other])).rejects.toThrow('no room');
  expect(pages).toBe(1);
});

test('a read model is rebuilt by one process at a time', async () => {
  const pool = await openPool();
  const store = newStore();
  await appendKey(store, 'key_0');
  const first = await Promise.allSettled([1, 2].map(() => rebuild({ pool, store, logger: silentLogger }, PROJECTIONS)));
  const refused = first.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(refused).toHaveLength(1);
  expect(refused[0]).toBeInstanceOf(RebuildInProgress);
  await rebuild({ pool, store, logger: silentLogger }, PROJECTIONS); // the lock is free again
  expect(await keyIds(pool)).toEqual(['key_0']);
});
