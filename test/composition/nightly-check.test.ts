import { expect, onTestFinished, test } from 'vitest';
import { createPostgresSecrets } from '../../src/adapters/secrets/postgres.ts';
import { readAuditCheck } from '../../src/composition/open-operator.ts';
import { nightlyCheck } from '../../src/composition/start-workers.ts';
import { NO_POLICY } from '../../src/lib/transparency/transparency.ts';
import type { TreeCheckResult } from '../../src/projections/audit/check/check-trees.ts';
import { checkTreesNightly } from '../../src/workers/audit/audit-jobs.ts';
import { OTHER, STREAM } from '../projections/support/audit-changes.ts';
import { HOUR_MS, openCheckedLog } from '../projections/support/checked-log.ts';
import { createInMemoryContents } from '../support/in-memory/contents.ts';
import { silentLogger } from '../support/logger.ts';
import { NOW } from '../support/specification.ts';
import { createSteppableSystem } from '../support/system.ts';

const MINUTE_MS = 60_000;

/** The worker of a service over a log of 610 signed events, with its clock and the results of its checks. */
const open = async () => {
  const { pool, store, sign } = await openCheckedLog();
  await sign(OTHER); // leaves without a signature would be late by the first night
  const system = createSteppableSystem({ start: NOW });
  const secrets = createPostgresSecrets({ pool, system, secretKeys: { current: 'a secret key of thirty-two bytes' } });
  const contents = createInMemoryContents();
  const read: string[] = [];
  const counting: typeof store = {
    ...store,
    readAll: async (options) => {
      const page = await store.readAll(options);
      read.push(...page.events.map(({ id }) => id));
      return page;
    },
  };
  const parts = {
    pool,
    store: counting,
    system,
    context: { contents, secrets },
    vaultOn: () => ({ contents, secrets }),
  };
  /** Starts a process. The next one knows only what the vault keeps. */
  const start = () => {
    const results: (TreeCheckResult & { readonly read: number })[] = [];
    let isChecking = false;
    const { hour, check } = nightlyCheck(3, parts, { metrics: undefined, policy: NO_POLICY });
    const noting = async (signal: AbortSignal): Promise<TreeCheckResult> => {
      read.length = 0;
      isChecking = true;
      const result = await check(signal).finally(() => {
        isChecking = false;
      });
      results.push({ ...result, read: read.length });
      return result;
    };
    const ending = new AbortController();
    const leadership = { isLeader: () => true };
    const work = checkTreesNightly({ hour, check: noting, leadership, system, logger: silentLogger });
    const ended = work(ending.signal, () => undefined);
    const stop = async (): Promise<void> => {
      ending.abort();
      await ended;
    };
    onTestFinished(stop);
    /** Advances the clock until the next night's check has ended. */
    const nextNight = async () => {
      const before = results.length;
      const night = new Date(system.now().getTime() + 24 * HOUR_MS);
      // While a check reads the database, time passes only for its rests.
      while (results.length === before) await system.advance(isChecking ? 1 : MINUTE_MS);
      expect(system.now().getTime()).toBeLessThanOrEqual(night.getTime() + HOUR_MS);
      return results.at(-1);
    };
    return { nextNight, stop };
  };
  return { pool, secrets, system, start };
};

test('the nightly check reads what is new, across restarts, and everything once a week', async () => {
  const { pool, secrets, system, start } = await open();
  const first = start();
  expect(await first.nextNight()).toMatchObject({ verdict: 'consistent', since: null, read: 610 });
  expect(await readAuditCheck(secrets)).toMatchObject({ verdict: 'consistent', faults: 0 });
  expect(await first.nextNight()).toMatchObject({ verdict: 'consistent', since: { leaves: 610 }, read: 0 });
  await first.stop();

  const second = start();
  await pool.query(
    `update event_log.events set data = '{"keyId":"key_2"}' where stream = '${STREAM}' and revision = 5`,
  );
  for (let night = 3; night <= 7; night += 1)
    expect(await second.nextNight()).toMatchObject({ verdict: 'consistent', read: 0 });
  const faults = [expect.stringContaining('revision 5, leaf 5 of org_mine) was changed in the log')];
  expect(await second.nextNight()).toMatchObject({ verdict: 'faults', faults, since: null, read: 610 });
  expect(await readAuditCheck(secrets)).toMatchObject({ verdict: 'faults', faults: 1 });
  expect(system.now().getTime() - Date.parse(NOW)).toBeLessThan(8 * 24 * HOUR_MS);
  // It reads everything until it finds no fault.
  expect(await second.nextNight()).toMatchObject({ verdict: 'faults', since: null, read: 610 });
});
