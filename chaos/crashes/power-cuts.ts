import type { FailPointName } from '../harness/fault-points.ts';
import { killPostgres } from '../harness/kill-postgres.ts';
import type { Scenario } from '../harness/scenario.ts';
import { inWorld } from './in-world.ts';
import { passingOf } from './passing.ts';
import { sendAll } from './send-all.ts';

const POINTS: readonly FailPointName[] = [
  'after-append-accepted',
  'after-mail-send',
  'after-append-outcome',
  'after-checkpoint',
  'after-webhook-finish',
];

/**
 * Recent commits must survive a crash of the server, and writes that were not waited for must be consistent with them.
 */
const bothDie = (point: FailPointName): Scenario => ({
  name: `killed ${point}, and the built-in database with it`,
  run: (seed) =>
    inWorld({ builtIn: true }, async ({ programs, load, postmasterPid }) => {
      await programs.startToDie({ OUTBOX_FAIL_POINT: passingOf(point, seed) });
      const postmaster = await postmasterPid();
      await sendAll(load);
      await programs.died();
      await killPostgres(postmaster);
      await programs.start();
    }),
});

/** A start adopts the database that a killed service left behind. */
const adopted: Scenario = {
  name: 'killed under load, and started again on the built-in database that was left',
  run: () =>
    inWorld({ builtIn: true }, async ({ programs, load }) => {
      await programs.start();
      const sending = sendAll(load);
      programs.kill();
      await programs.died();
      await sending;
      await programs.start();
    }),
};

export const POWER_CUTS: readonly Scenario[] = [...POINTS.map(bothDie), adopted];
