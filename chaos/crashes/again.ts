import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

/** A process that dies in the middle of an attempt, and its successor while it notes that the attempt was lost. */
const diesOfTheLoss = (point: FailPointName): Scenario => ({
  name: `killed in the middle of an attempt, and again ${point}`,
  run: () =>
    inWorld({}, async ({ programs, load }) => {
      await programs.startToDie({ OUTBOX_FAIL_POINT: 'before-mail-send' });
      await sendAll(load);
      await programs.died();
      await programs.startToDie({ OUTBOX_FAIL_POINT: point });
      await programs.died();
      await programs.start();
    }),
});

const STARTS = 5;

/** Starts that are cut off one after the other, or soon after. */
const diesAtEveryStart: Scenario = {
  name: 'killed in five starts in a row',
  run: () =>
    inWorld({}, async ({ programs, load }) => {
      await programs.start();
      const sending = sendAll(load);
      programs.kill();
      await programs.died();
      for (let time = 1; time <= STARTS; time += 1) {
        await programs.startToDie({ OUTBOX_FAIL_POINT: `after-checkpoint#${time}` });
        await load.singles(4); // where it did not die before it could be asked
        await programs.died();
      }
      await sending;
      await programs.start();
    }),
};

export const CRASHES_AGAIN: readonly Scenario[] = [
  ...[diesOfTheLoss('before-append-lost'), diesOfTheLoss('after-append-lost')],
  diesAtEveryStart,
];
