import type { Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isFatal, UnknownEvent } from '../../src/domain/kernel/codec.ts';
import { LOG_START, type Page, type Position } from '../../src/domain/kernel/event-store.ts';
import { StartRefused } from '../../src/lib/async/async.ts';
import { createAwaitedPositions, runProjection } from '../../src/lib/projections/projections.ts';
import { apiKeysProjection } from '../../src/projections/api-keys.ts';
import type { Projection } from '../../src/projections/projection.ts';
import { createRecordingLogger } from '../workers/recording-logger.ts';
import { appendKey, newStore, system as realSystem, until } from './support/keys-log.ts';
import { openPool } from './support/open.ts';
import { poisonousKey, tampered } from './support/tampered.ts';

/** The session's heartbeats wait for a third of this. No other wait is as long. */
const SILENCE_MS = 300_000;
const GATHER_MS = 1_000;
const LOOK_EVERY_MS = 100;
/** Waits after consecutive faults. */
const BACK_OFF_MS = [50, 200, 1_000, 2_000];
/** Waits of a process that does not run the projection. */
const STANDBY_MS = 500;

/** A log of keys, and a clock that waits advance. */
const open = async () => {
  const pool = await openPool();
  const store = newStore();
  const logId = await store.logId();
  let ms = 0;
  const system = {
    ...realSystem,
    monotonicMs: () => ms,
    sleep: async (sleptMs: number, signal?: AbortSignal) => {
      if (sleptMs > 60_000) return realSystem.sleep(sleptMs, signal); // a heartbeat
      await realSystem.sleep(1, signal);
      ms += sleptMs;
    },
  };
  /** The next events, as soon as there are any; none if the signal aborts. */
  const pageAfter = async (from: Position, signal: AbortSignal): Promise<Page> => {
    for (;;) {
      const page = await store.readAll({ from, limit: 25 });
      if (page.events.length > 0 || signal.aborted) return page;
      await realSystem.sleep(5);
    }
  };

  /** Runs a projection like one process. */
  const run = (projection: Projection = apiKeysProjection, more: { readonly fullUntil?: Position } = {}) => {
    const stop = new AbortController();
    const logger = createRecordingLogger();
    const waits: number[] = [];
    const reads: Position[] = [];
    const ended = runProjection(projection, {
      ...{
        pool,
        logger,
        logId,
        awaited: createAwaitedPositions(),
        silenceMs: SILENCE_MS,
        signal: stop.signal,
        isFatal,
      },
      system: {
        ...system,
        sleep: (sleptMs, signal) => {
          if (sleptMs < 60_000) waits.push(sleptMs);
          return system.sleep(sleptMs, signal);
        },
      },
      log: {
        next: async (after) => {
          reads.push(after);
          const page = await pageAfter(after, stop.signal);
          const isFull = page.position <= (more.fullUntil ?? LOG_START);
          return page.events.length === 0 ? null : { after, ...page, isFull };
        },
      },
    });
    ended.catch(() => undefined); // expected by the test
    const end = async (): Promise<void> => {
      stop.abort();
      await ended.catch(() => undefined);
    };
    onTestFinished(end);
    return { ended, end, logger, waits, reads };
  };
  return { pool, store, run };
};

const keyIds = async (pool: Pool): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ keyId: string }>('select key_id as "keyId" from read_models.api_keys order by 1');
  return rows.map(({ keyId }) => keyId);
};
const has = (pool: Pool, count: number) => until(async () => (await keyIds(pool)).length === count);

const setCheckpoint = (pool: Pool, logId: string, version: number) =>
  pool.query(`insert into read_models.checkpoints (name, version, log_id, position) values ('api-keys', $1, $2, '')`, [
    version,
    logId,
  ]);

describe('a projection', () => {
  test('of an older process ends with a reason, and leaves the newer rows alone', async () => {
    const { pool, store, run } = await open();
    await setCheckpoint(pool, await store.logId(), apiKeysProjection.version + 1);
    await appendKey(store, 'key_1');
    const { ended, logger, reads } = run();
    await ended;
    const { version } = apiKeysProjection;
    expect(logger.said('error')).toEqual([
      `this process is older than read model api-keys: it knows version ${version} and finds ${version + 1}; upgrade it`,
    ]);
    expect([reads, await keyIds(pool)]).toEqual([[], []]);
  });

  test('runs on a read model of its own version', async () => {
    const { pool, store, run } = await open();
    await setCheckpoint(pool, await store.logId(), apiKeysProjection.version);
    await appendKey(store, 'key_1');
    const { logger } = run();
    expect(await has(pool, 1)).toBe(true);
    expect(logger.said('error')).toEqual([]);
  });

  test('refuses a read model that was made from another log, and is not retried', async () => {
    const { pool, store, run } = await open();
    await setCheckpoint(pool, 'another', apiKeysProjection.version);
    await appendKey(store, 'key_1');
    const { ended, logger, reads } = run();
    await expect(ended).rejects.toBeInstanceOf(StartRefused);
    expect([logger.said('error'), reads, await keyIds(pool)]).toEqual([[], [], []]);
  });

  test('ends at an event that this process does not know', async () => {
    const { store, run } = await open();
    await appendKey(store, 'key_1');
    const fault = new UnknownEvent('KeyCreated', 7);
    const { ended, logger } = run(tampered(() => Promise.reject(fault)));
    await expect(ended).rejects.toBe(fault);
    expect(logger.said('error')).toEqual([]);
  });

  test('is retried after faults, later each time, which is logged once with how it ended', async () => {
    const { pool, store, run } = await open();
    await appendKey(store, 'key_1');
    let faults = 6;
    const { logger, waits } = run(
      tampered(() => {
        faults -= 1;
        if (faults >= 0) throw new Error('the connection was lost');
      }),
    );
    expect(await has(pool, 1)).toBe(true);
    await until(() => logger.said('info').length > 0);
    expect(logger.said('error')).toEqual(['a projection failed: retrying']);
    expect(logger.fieldsOf('info')).toEqual([{ projection: 'api-keys', faults: 6 }]);
    expect(waits.filter((ms) => ms !== STANDBY_MS)).toEqual([...BACK_OFF_MS, 2_000, 2_000]);

    waits.length = 0;
    faults = 1;
    await appendKey(store, 'key_2');
    expect(await has(pool, 2)).toBe(true);
    await until(() => logger.said('info').length > 1);
    expect(logger.said('error')).toHaveLength(2);
    expect(logger.fieldsOf('info')[1]).toMatchObject({ faults: 1 });
    expect(waits.filter((ms) => ms !== STANDBY_MS && ms !== LOOK_EVERY_MS)).toEqual([GATHER_MS, 50]);
    await appendKey(store, 'key_3');
    expect(await has(pool, 3)).toBe(true);
    expect(logger.said('info')).toHaveLength(2);
  });

  test('starts over with a warning when another process has moved its checkpoint', async () => {
    const { pool, store, run } = await open();
    await appendKey(store, 'key_1');
    let isMoved = false;
    const { logger } = run(
      tampered(async () => {
        if (isMoved) return;
        isMoved = true;
        await appendKey(store, 'key_2');
        throw new Error('a fault, so that the batch is read again');
      }),
    );
    expect(await has(pool, 2)).toBe(true);
    await pool.query(`update read_models.checkpoints set position = '' where name = 'api-keys'`);
    await appendKey(store, 'key_3');
    await until(() => logger.said('warn').length > 0);
    expect(logger.said('warn')).toEqual([
      'the checkpoint of read model api-keys was moved by another process: this runner starts over',
    ]);
    expect(logger.said('error')).toEqual(['a projection failed: retrying']);
    expect(await has(pool, 3)).toBe(true);
  });

  test('names the event that it has parked', async () => {
    const { pool, store, run } = await open();
    await appendKey(store, 'key_1', poisonousKey('key_1'));
    await appendKey(store, 'key_2');
    const { logger } = run();
    expect(await has(pool, 1)).toBe(true);
    await until(() => logger.said('error').length > 0);
    expect(logger.fieldsOf('error')).toMatchObject([
      { projection: 'api-keys', stream: 'apiKey-key_1', type: 'KeyCreated', position: expect.any(String) },
    ]);
    expect(logger.said('error')).toEqual(['parked an event that could not be applied']);
  });

  test('runs in one process, and in another when that ends', async () => {
    const { pool, store, run } = await open();
    const first = run();
    await appendKey(store, 'key_1');
    expect(await has(pool, 1)).toBe(true);
    const second = run();
    await until(() => second.waits.length > 3);
    await appendKey(store, 'key_2');
    expect(await has(pool, 2)).toBe(true);
    expect([second.reads, new Set(second.waits)]).toEqual([[], new Set([STANDBY_MS])]);
    await first.end();
    await appendKey(store, 'key_3');
    expect(await has(pool, 3)).toBe(true);
    expect(second.reads[0]).not.toBe(LOG_START);
    for (const { logger } of [first, second]) expect([logger.said('warn'), logger.said('error')]).toEqual([[], []]);
  });
});

describe('the pace of a projection', () => {
  const appendKeys = async (store: Awaited<ReturnType<typeof open>>['store'], count: number) => {
    for (let index = 0; index < count; index += 1) await appendKey(store, `key_${index}`);
  };

  test('writes the first events at once, and gathers those that follow', async () => {
    const { pool, store, run } = await open();
    await appendKeys(store, 3);
    const { waits } = run();
    expect(await has(pool, 3)).toBe(true);
    expect(waits).toEqual([]);
    await appendKey(store, 'key_3');
    expect(await has(pool, 4)).toBe(true);
    expect(waits).toEqual([GATHER_MS, LOOK_EVERY_MS]);
  });

  test('does not wait while it is behind', async () => {
    const { pool, store, run } = await open();
    await appendKeys(store, 100);
    const { waits } = run(apiKeysProjection, { fullUntil: await store.head() });
    expect(await has(pool, 100)).toBe(true);
    expect(waits).toEqual([]);
  });

  test('gathers for a second under load too, of which a part is not cut short by readers', async () => {
    const { pool, store, run } = await open();
    await appendKeys(store, 100); // in batches of 25
    const { waits } = run();
    expect(await has(pool, 100)).toBe(true);
    await until(() => waits.length >= 2);
    expect(waits.slice(0, 2)).toEqual([100, 900]);
  });
});
