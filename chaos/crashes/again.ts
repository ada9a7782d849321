import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

/** A process dies during an attempt, and its successor dies while it records that attempt as lost. */
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

/** Several starts in a row are interrupted, or soon after. */
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
        await load.singles(4); // sends if the process lived until it was ready
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
