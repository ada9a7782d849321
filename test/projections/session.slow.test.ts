import { Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { RUNNER_CONNECTIONS, rebuild } from '../../src/projections/runner.ts';
import { silentLogger } from '../support/logger.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { createHistory } from './support/history.ts';
import { caughtUp, openPool, startRunner } from './support/open.ts';
import { allRows } from './support/read-model-rows.ts';

const SILENCE_MS = 600;

/** Connections to the same database through a proxy that can block all traffic. */
const openBehindProxy = async (url: string): Promise<{ readonly pool: Pool; readonly proxy: TcpProxy }> => {
  const proxy = await startTcpProxy(url);
  const pool = new Pool({ connectionString: proxy.url, max: RUNNER_CONNECTIONS, query_timeout: SILENCE_MS });
  pool.on('error', () => undefined);
  onTestFinished(async () => {
    proxy.thaw();
    await pool.end();
    await proxy.stop();
  });
  return { pool, proxy };
};

describe('a leader of projections that falls silent', () => {
  test('is replaced by another, and when it returns writes nothing outside its term', async () => {
    const pool = await openPool();
    const history = await createHistory({ seed: 21 });
    const frozen = await openBehindProxy(pool.url);
    startRunner(frozen.pool, history.store, PROJECTIONS, { silenceMs: SILENCE_MS });
    await history.go(20);
    expect(await caughtUp(pool, history.store)).toBe(true);
    startRunner(pool, history.store, PROJECTIONS, { silenceMs: SILENCE_MS });
    frozen.proxy.freeze();
    await history.go(30);
    expect(await caughtUp(pool, history.store)).toBe(true);
    frozen.proxy.thaw();
    await history.go(30);
    expect(await caughtUp(pool, history.store)).toBe(true);
    const live = await allRows(pool);
    await rebuild({ pool, store: history.store, logger: silentLogger }, PROJECTIONS);
    expect(await allRows(pool)).toEqual(live);
  });

  test('recovers on its own if only its connections were dropped, whether idle or busy', async () => {
    const pool = await openPool();
    const history = await createHistory({ seed: 22 });
    const { pool: forgotten, proxy } = await openBehindProxy(pool.url);
    startRunner(forgotten, history.store, PROJECTIONS, { silenceMs: SILENCE_MS });
    await history.go(20);
    expect(await caughtUp(pool, history.store)).toBe(true);
    proxy.forget(60_000);
    await history.go(20);
    expect(await caughtUp(pool, history.store)).toBe(true);
    const going = history.go(60);
    proxy.forget(60_000);
    await going;
    expect(await caughtUp(pool, history.store)).toBe(true);
  });

  test('keeps leading while it is merely idle', async () => {
    const pool = await openPool();
    const history = await createHistory({ seed: 23 });
    const { logger } = startRunner(pool, history.store, PROJECTIONS, { silenceMs: SILENCE_MS });
    await history.go(5);
    expect(await caughtUp(pool, history.store)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 3 * SILENCE_MS));
    await history.go(5);
    expect(await caughtUp(pool, history.store)).toBe(true);
    expect(logger.said).toEqual([]);
  });
});
