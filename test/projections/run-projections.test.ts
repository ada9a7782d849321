import { expect, test, vi } from 'vitest';
import { StartRefused } from '../../src/lib/async/async.ts';
import { silentLogger } from '../support/logger.ts';
import { runProjections } from '../support/run-projections.ts';
import { appendKey, newStore, system } from './support/keys-log.ts';
import { caughtUp, openPool } from './support/open.ts';

test('projections in tests continue after a connection time-out', async () => {
  const pool = await openPool();
  const store = newStore();
  await appendKey(store, 'key_1');
  const asked = vi.spyOn(pool, 'query');
  for (let fault = 0; fault < 2; fault += 1)
    asked.mockRejectedValueOnce(new Error('Connection terminated due to connection timeout') as never);
  const projections = runProjections({ pool, store, system, logger: silentLogger });
  await expect.poll(() => asked.mock.calls.length).toBeGreaterThan(2);
  expect(await caughtUp(pool, store)).toBe(true);
  expect(projections.ended()).toBeNull();
  await projections.close();
});

test('projections in tests end, and fail the test, if another start would not help', async () => {
  const pool = await openPool();
  const store = newStore();
  const first = runProjections({ pool, store, system, logger: silentLogger });
  await appendKey(store, 'key_1');
  expect(await caughtUp(pool, store)).toBe(true);
  await first.close();
  const other = runProjections({ pool, store: newStore(), system, logger: silentLogger });
  await expect.poll(() => other.ended()).toBeInstanceOf(StartRefused);
  await expect(other.close()).rejects.toThrow(StartRefused);
});
