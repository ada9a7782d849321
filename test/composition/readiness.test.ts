import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Engines } from '../../src/composition/open-engines.ts';
import { readinessProbes } from '../../src/composition/readiness.ts';
import { StoreUnavailable } from '../../src/lib/async/async.ts';
import { openMigratedPool } from '../support/postgres.ts';

const FULL = Object.assign(new Error('could not write to file: No space left on device'), { code: '53100' });
const ROOM = 'database: its disk is full';

const probeWith = (query: (text: string) => Promise<unknown>, foundFull = () => false) => {
  let nowMs = 0;
  const system = { monotonicMs: () => nowMs };
  const engines = { pool: { query }, system, foundFull } as unknown as Engines;
  const probe = readinessProbes(engines, () => true)[ROOM] ?? expect.unreachable();
  return {
    probe: async () =>
      probe().then(
        () => 'ready',
        () => 'not ready',
      ),
    after: (ms: number) => {
      nowMs += ms;
    },
  };
};

describe('the probe for room on the disk', () => {
  test('fails while the disk is full, and passes as soon as there is room', async () => {
    let isFull = true;
    const { probe } = probeWith(async () => {
      if (isFull) throw FULL;
    });
    expect([await probe(), await probe()]).toEqual(['not ready', 'not ready']);
    isFull = false;
    expect(await probe()).toBe('ready');
  });

  test('writes every ten seconds, and at every probe after an append found the disk full', async () => {
    const query = vi.fn(async () => undefined);
    let foundFull = false;
    const { probe, after } = probeWith(query, () => foundFull);
    await probe();
    await probe();
    expect(query).toHaveBeenCalledTimes(1);
    after(10_000);
    await probe();
    expect(query).toHaveBeenCalledTimes(2);
    foundFull = true;
    await probe();
    await probe();
    expect(query).toHaveBeenCalledTimes(4);
  });

  test('leaves a database that is away to the other probe', async () => {
    const { probe } = probeWith(async () => {
      throw new StoreUnavailable('away');
    });
    expect(await probe()).toBe('ready');
  });
});

describe('on PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof openMigratedPool>>;
  beforeAll(async () => {
    database = await openMigratedPool();
  });
  afterAll(() => database.close());

  test('the probe really writes a file', async () => {
    const client = await database.pool.connect();
    try {
      await client.query('set temp_file_limit = 0'); // the server then refuses any such file
      const failure = probeWith((text) =>
        client.query(text).catch((error) => Promise.reject(Object.assign(error, { code: '53100' }))),
      );
      expect(await failure.probe()).toBe('not ready');
      await client.query('set temp_file_limit = -1');
      expect(await failure.probe()).toBe('ready');
    } finally {
      client.release(true);
    }
  });
});
