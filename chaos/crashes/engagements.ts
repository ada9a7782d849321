import { askIn, untilAnswered } from '../harness/asking.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import { SENDER } from '../harness/provision.ts';
import { pixelPathOf } from '../harness/received-mail.ts';
import type { Scenario } from '../harness/scenario.ts';
import { inWorld } from './in-world.ts';

const MESSAGE = {
  ...{ from: SENDER, to: ['reader@example.net'], subject: 'Tracked', html: '<p>Hello</p>' },
  tracking: { opens: true },
};

/** An open is answered before it is recorded. A crash in between loses it, but the next open is recorded. */
const diesOfOpening = (point: FailPointName, recorded: number): Scenario => ({
  name: `killed ${point} by an opening`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, sink } = world;
        const ask = askIn(world);
        const open = async (): Promise<void> => {
          const [path] = sink.mails.map(pixelPathOf);
          const { status } = await fetch(programs.baseUrl() + path);
          if (status !== 200) throw new Error(`the image was answered ${status}`);
        };
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        const { id } = JSON.parse((await ask('/v1/messages/send', MESSAGE))?.text ?? '');
        await untilAnswered(ask, { path: `/v1/messages/${id}` }, ({ text }) => JSON.parse(text).status === 'delivered');
        await open();
        await programs.died();
        await programs.start();
        await open();
        const path = `/v1/messages/${id}/events`;
        await untilAnswered(ask, { path }, ({ text }) => text.split('message.opened').length === recorded + 1);
      },
      {
        more: ({ events }) => {
          const found = events.filter(({ type }) => type === 'RecipientOpened').length;
          return found === recorded ? [] : [{ promise: 'scenario', what: `it was opened ${found} times in the log` }];
        },
      },
    ),
});

export const ENGAGEMENT_CRASHES: readonly Scenario[] = [
  diesOfOpening('before-append-engagement', 1),
  diesOfOpening('after-append-engagement', 2),
];
