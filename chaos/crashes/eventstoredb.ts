import { startEventStoreDbDouble } from '../../test/support/eventstoredb-double/start.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import { inWorld } from './in-world.ts';
import { passingOf } from './passing.ts';
import { sendAll } from './send-all.ts';

/** With EventStoreDB, vault and log are on different servers: contents are committed first, separately. */
const POINTS: readonly FailPointName[] = [
  'before-contents-put',
  'after-contents-put',
  'before-append-accepted',
  'after-append-accepted',
  'after-append-started',
  'after-mail-send',
  'after-append-outcome',
  'before-checkpoint',
  'after-webhook-record',
];

const diesAt = (point: FailPointName): Scenario => ({
  name: `with the log in EventStoreDB, killed ${point}`,
  run: async (seed) => {
    const double = await startEventStoreDbDouble();
    try {
      return await inWorld({ log: { EVENTSTORE_URL: double.url } }, async ({ programs, load }) => {
        await programs.startToDie({ OUTBOX_FAIL_POINT: passingOf(point, seed) });
        await sendAll(load);
        await programs.died();
        await programs.start();
      });
    } finally {
      await double.close();
    }
  },
});

export const EVENTSTOREDB_CRASHES: readonly Scenario[] = POINTS.map(diesAt);
