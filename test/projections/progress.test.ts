import { describe, expect, onTestFinished, test } from 'vitest';
import { LOG_START } from '../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../src/domain/kernel/streams.ts';
import { createAwaitedPositions, createWaitFor } from '../../src/lib/projections/projections.ts';
import { apiKeysProjection } from '../../src/projections/api-keys.ts';
import { createReadModels } from '../../src/projections/read-models.ts';
import { keyRevoked } from '../support/controls/api-key.ts';
import { messageAccepted } from '../support/controls/message.ts';
import { silentLogger } from '../support/logger.ts';
import { runProjections } from '../support/run-projections.ts';
import { slowness } from '../support/slowness.ts';
import { contextAt } from '../support/specification.ts';
import { appendKey, LONG_AGO, newStore, system, until } from './support/keys-log.ts';
import { openPool, openReadModels, startRunner } from './support/open.ts';

describe('waiting for read models', () => {
  test('times out when no projection runs, and ends at once when they have caught up', async () => {
    const pool = await openPool();
    const store = newStore();
    const { waitFor } = openReadModels(pool, store);
    expect(await waitFor(['messages'], LOG_START)).toBe(true);
    await appendKey(store, 'key_1');
    const start = performance.now();
    expect(await waitFor(['messages'], await store.head(), { timeoutMs: 150 })).toBe(false);
    expect(performance.now() - start).toBeLessThan(1500 * slowness());
    expect(await waitFor(['messages'], await store.head(), { signal: AbortSignal.abort() })).toBe(false);
    startRunner(pool, store);
    expect(await waitFor(['messages', 'api-keys'], await store.head(), { timeoutMs: 5000 })).toBe(true);
  });

  test('times out when only some of them have caught up', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_1');
    startRunner(pool, store, [apiKeysProjection]);
    const { waitFor } = openReadModels(pool, store);
    const head = await store.head();
    expect(await waitFor(['api-keys'], head, { timeoutMs: 5000 })).toBe(true);
    expect(await waitFor(['api-keys', 'messages'], head, { timeoutMs: 50 })).toBe(false);
  });

  test('lasts until the furthest position that any reader waits for', () => {
    const awaited = createAwaitedPositions();
    awaited.note(['messages'], '5');
    awaited.note(['messages'], '3');
    const hurried: string[] = [];
    for (const position of ['4', '5']) awaited.onBeyond('messages', position, () => hurried.push(position))();
    expect(hurried).toEqual(['4']);
  });

  test('is watched by the projection that began last, whatever an earlier one ends', () => {
    const awaited = createAwaitedPositions();
    let hurried = 0;
    const hurry = () => {
      hurried += 1;
    };
    const stopFirst = awaited.onBeyond('messages', '1', () => undefined);
    const stopSecond = awaited.onBeyond('messages', '1', hurry);
    stopFirst();
    awaited.note(['messages'], '2');
    expect(hurried).toBe(1);
    stopSecond();
    awaited.note(['messages'], '3');
    expect(hurried).toBe(1);
  });

  test('ends at once when the reader has gone', async () => {
    const gone = new AbortController();
    let waits = 0;
    const sleep = async (): Promise<void> => {
      waits += 1;
      if (waits === 3) gone.abort();
    };
    const database = { query: async () => ({ rows: [] }) } as never;
    const waitFor = createWaitFor({ pool: database, system: { ...system, monotonicMs: () => 0, sleep } });
    expect(await waitFor(['messages'], '1', { signal: gone.signal })).toBe(false);
    expect(waits).toBe(3);
  });

  test('makes one query for all concurrent waiters', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_1');
    let queries = 0;
    const counting = Object.assign(Object.create(pool), {
      query: (...given: Parameters<typeof pool.query>) => {
        queries += 1;
        return pool.query(...given);
      },
    });
    const { waitFor } = openReadModels(counting, store);
    startRunner(pool, store);
    const head = await store.head();
    const all = await Promise.all(Array.from({ length: 100 }, () => waitFor(['stats'], head, { timeoutMs: 5000 })));
    expect(all.every(Boolean)).toBe(true);
    expect(queries).toBeLessThan(100);
    const before = queries;
    await Promise.all(Array.from({ length: 100 }, () => waitFor(['stats'], head)));
    expect(queries).toBe(before + 1);
  });

  test('does not rely on earlier results after checkpoints went back, for example in a database crash', async () => {
    const pool = await openPool();
    const store = newStore();
    const { waitFor } = openReadModels(pool, store);
    await appendKey(store, 'key_1');
    const runner = startRunner(pool, store);
    expect(await waitFor(['api-keys'], await store.head(), { timeoutMs: 5000 })).toBe(true);
    await runner.stop();
    await pool.query(`update read_models.checkpoints set position = '' where name = 'api-keys'`);
    expect(await waitFor(['api-keys'], await store.head(), { timeoutMs: 50 })).toBe(false);
    startRunner(pool, store);
    expect(await waitFor(['api-keys'], await store.head(), { timeoutMs: 5000 })).toBe(true);
  });
});

const appendMessage = (store: ReturnType<typeof newStore>, messageId: string) =>
  store.append({
    stream: messageStream(messageId),
    expected: 'no-stream',
    context: contextAt(LONG_AGO),
    events: [{ ...messageAccepted({ messageId }), id: system.uuid() }],
  });

/** Time for which it collects. */
const GATHER_MS = 1_000;

describe('a projection that batches events', () => {
  /** A projection that collects events until `release`, or until a reader waits for it. */
  const gathering = async (urgent: readonly string[] = []) => {
    const pool = await openPool();
    const store = newStore();
    const awaited = createAwaitedPositions();
    const readModels = createReadModels({ pool, store, system, awaited });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let waits = 0;
    const slow = {
      ...system,
      sleep: async (ms: number, signal?: AbortSignal) => {
        if (ms === GATHER_MS) {
          waits += 1;
          await Promise.race([released, system.sleep(10_000, signal)]);
        }
        await system.sleep(ms, signal);
      },
    };
    const batches: number[] = [];
    const counting = {
      ...apiKeysProjection,
      urgent,
      apply: (...[db, events]: Parameters<typeof apiKeysProjection.apply>) => {
        batches.push(events.length);
        return apiKeysProjection.apply(db, events);
      },
    };
    const projections = [counting];
    const running = runProjections({ pool, store, awaited, system: slow, logger: silentLogger, projections });
    onTestFinished(async () => {
      release();
      await running.stop();
    });
    /** Waits until it is collecting. */
    const begun = () => until(() => waits > 0);
    // The first batch is written at once.
    await appendKey(store, 'key_0');
    if (!(await until(() => batches.length === 1))) throw new Error('the first batch was not written');
    batches.length = 0;
    /** Position of the stored checkpoint. */
    const position = async (): Promise<string> => {
      const { rows } = await pool.query(`select position from read_models.checkpoints where name = 'api-keys'`);
      return rows[0]?.position;
    };
    return { pool, store, readModels, batches, release, begun, position };
  };

  test('writes events together that arrived in the meantime', async () => {
    const { store, readModels, batches, release, begun } = await gathering();
    await appendKey(store, 'key_1');
    expect(await begun()).toBe(true);
    await appendKey(store, 'key_2');
    expect(batches).toEqual([]);
    release();
    expect(await until(() => batches.length > 0)).toBe(true);
    expect(await readModels.waitFor(['api-keys'], await store.head(), { timeoutMs: 5000 })).toBe(true);
    expect(batches).toEqual([2]);
  });

  test('writes an urgent event at once, with what came before it', async () => {
    const { store, batches, begun } = await gathering(['KeyRevoked']);
    await appendKey(store, 'key_1');
    expect(await begun()).toBe(true);
    await appendKey(store, 'key_2', keyRevoked);
    expect(await until(() => batches.length > 0)).toBe(true);
    expect(batches).toEqual([2]);
  });

  test('writes at once when a reader waits for it', async () => {
    const { store, readModels, batches, begun } = await gathering();
    await appendKey(store, 'key_1');
    expect(await begun()).toBe(true);
    expect(await readModels.waitFor(['messages'], await store.head(), { timeoutMs: 100 })).toBe(false);
    expect(batches).toEqual([]);
    expect(await readModels.waitFor(['api-keys'], await store.head(), { timeoutMs: 5000 })).toBe(true);
    expect(batches).toEqual([1]);
  });

  test('passes events of others later, together, and with the next event of its own', async () => {
    const { store, batches, release, begun, position } = await gathering();
    await appendMessage(store, 'msg_1');
    expect(await begun()).toBe(true);
    const before = await position();
    await appendMessage(store, 'msg_2');
    await appendKey(store, 'key_1');
    release();
    expect(await until(async () => (await position()) === (await store.head()))).toBe(true);
    expect(before < (await store.head())).toBe(true);
    expect(batches).toEqual([1]);
  });

  test.each(['this process', 'another process'])(
    'passes events of others at once when a reader of %s waits',
    async (by) => {
      const { pool, store, readModels, begun, position } = await gathering();
      await appendMessage(store, 'msg_1');
      expect(await begun()).toBe(true);
      expect((await position()) < (await store.head())).toBe(true);
      const { waitFor } = by === 'this process' ? readModels : openReadModels(pool, store);
      expect(await waitFor(['api-keys'], await store.head(), { timeoutMs: 5000 })).toBe(true);
    },
  );

  test('listens again for readers of other processes after its connection was lost', async () => {
    const { pool, store, begun, release } = await gathering();
    const listening = `select pid from pg_stat_activity where datname = current_database() and query like 'listen %'`;
    expect(await until(async () => (await pool.query(listening)).rowCount === 1)).toBe(true);
    await pool.query(`select pg_terminate_backend(pid) from (${listening}) l`);
    await appendMessage(store, 'msg_1');
    expect(await begun()).toBe(true);
    release(); // the wait before it listens again
    expect(await until(async () => (await pool.query(listening)).rowCount === 1)).toBe(true);
  });

  test('does not delay events that a reader already waits for', async () => {
    const { store, readModels, batches } = await gathering();
    const head = (await appendKey(store, 'key_1')).position;
    expect(await readModels.waitFor(['api-keys'], head, { timeoutMs: 5000 })).toBe(true);
    expect(batches).toEqual([1]);
  });
});
