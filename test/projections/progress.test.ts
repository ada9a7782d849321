import { describe, expect, test } from 'vitest';
import { LOG_START } from '../../src/domain/ports/event-store.ts';
import { slowness } from '../support/slowness.ts';
import { appendKey, newStore } from './support/keys-log.ts';
import { openPool, openReadModels, startRunner } from './support/open.ts';

describe('waiting for read models', () => {
  test('ends in time when nobody runs them, and at once when they have passed', async () => {
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

  test('asks once for all who wait at the same time', async () => {
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

  test('does not believe what it saw before checkpoints went back, as they do when the database crashes', async () => {
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
