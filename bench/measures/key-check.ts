import { createInMemoryUsageMarks } from '../../src/adapters/usage-marks.ts';
import { createHttpWebhookTarget } from '../../src/adapters/webhook-target/http.ts';
import { authenticate, presentedBearer } from '../../src/http/auth/authenticate.ts';
import { createKeyCache, createSessionActivity } from '../../src/http/auth/key-cache.ts';
import { createCatchUpLimit } from '../../src/http/auth/limits.ts';
import { createInMemoryContents } from '../../test/support/in-memory/contents.ts';
import { createInMemoryDkimKeys } from '../../test/support/in-memory/dkim-keys.ts';
import { createInMemoryResolver } from '../../test/support/in-memory/dns.ts';
import { createInMemorySecrets } from '../../test/support/in-memory/secrets.ts';
import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { openStore } from '../harness/open-store.ts';
import { provision } from '../harness/provision.ts';

const FLOOR = { of: 'figure', atMost: 10 } as const;
const CHECKS = 20_000;
const MICROSECONDS = 1_000;

/** Authentication from the `Authorization` header, without a database query. */
export const keyCheck: Measure = {
  name: 'key-check',
  run: async (bench) => {
    const { postgres, closers, system, logger, rounds } = bench;
    const store = await openStore(bench, closers, await postgres.migratedDatabase(closers));
    const webhookTarget = createHttpWebhookTarget({ system, allowLoopback: false });
    closers.add('webhook target', webhookTarget.close);
    const context = {
      store,
      system,
      webhookTarget,
      capturing: false,
      resolver: createInMemoryResolver(),
      contents: createInMemoryContents(),
      secrets: createInMemorySecrets(),
      dkimKeys: createInMemoryDkimKeys(),
    };
    const key = await provision(context, { signs: false });
    const keyCache = createKeyCache({ store, system, logger, capturing: false });
    closers.add('key cache', keyCache.close);
    await keyCache.start();
    const usageMarks = createInMemoryUsageMarks();
    const tools = {
      keyCache,
      system,
      catchUpLimit: createCatchUpLimit(system),
      usageMarks,
      sessionActivity: createSessionActivity({ usageMarks, system }),
    };
    const presented = presentedBearer(`Bearer ${key}`);

    const check = async (): Promise<number> => {
      const beganMs = performance.now();
      for (let count = 0; count < CHECKS; count += 1) await authenticate(tools, presented, '127.0.0.1');
      return ((performance.now() - beganMs) * MICROSECONDS) / CHECKS;
    };
    const figures = await interleave({ rounds, warmUps: 1 }, { check });
    return [{ measure: 'key check', unit: 'µs', rounds: figures.check, floor: FLOOR }];
  },
};
