import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import { asOperator } from './as-operator.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

const OTHERWISE = { EHLO_NAME: 'other.example' };

/** Changed mail settings are stored again. Between removing the old value and storing the new one, no settings are stored. */
const diesAt = (point: FailPointName): Scenario => ({
  name: `killed ${point} by a start that sends otherwise`,
  run: () =>
    inWorld({}, async (world) => {
      const { programs, load } = world;
      await programs.start();
      programs.kill();
      await programs.died();
      await programs.startToDie({ ...OTHERWISE, OUTBOX_FAIL_POINT: point });
      await programs.died();
      await programs.start(OTHERWISE);
      const noted = await asOperator(world, async ({ mail }) => mail?.ehloName);
      if (noted !== OTHERWISE.EHLO_NAME) throw new Error(`the operator's commands know of the EHLO name ${noted}`);
      await sendAll(load);
    }),
});

export const MAIL_SETTINGS_CRASHES: readonly Scenario[] = (['after-secret-destroy', 'after-note-put'] as const).map(
  diesAt,
);
