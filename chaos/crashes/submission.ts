import type { FailPointName } from '../harness/fault-points.ts';
import { handIn } from '../harness/hand-in.ts';
import { SENDER } from '../harness/provision.ts';
import { markerOf } from '../harness/received-mail.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';

const LISTENING = /SMTP submission at [\d.]+:(\d+)/;
const MARKER = 'by-smtp';

/** Submits the same message until it gets a 250, like any client. @returns true if it got one. */
const submit = ({ programs, key }: World): Promise<boolean> => {
  const port = Number(LISTENING.exec(programs.running().output())?.[1]);
  return handIn(
    { port, auth: { user: 'outbox', pass: key } },
    {
      from: SENDER,
      to: 'ann@example.net',
      subject: 'Hello',
      text: 'Hello',
      messageId: '<one@chaos.example>',
      date: new Date(0),
      headers: { 'X-Outbox-Idempotency': 'message-id', 'X-Load': MARKER },
    },
  );
};

const diesAt = (point: FailPointName): Scenario => ({
  name: `killed ${point} by a submission`,
  run: () =>
    inWorld(
      { env: () => ({ SUBMISSION_PORT: '0' }) },
      async (world) => {
        const { programs } = world;
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        if (await submit(world)) throw new Error('the message was answered 250 by a process that died of it');
        await programs.died();
        await programs.start();
        if (!(await submit(world))) throw new Error('the message is not taken');
      },
      {
        doubles: 'never',
        more: ({ events, mails }) => {
          const accepted = events.filter(({ type }) => type === 'MessageAccepted').length;
          const copies = mails.filter((mail) => markerOf(mail) === MARKER).length;
          if (accepted === 1 && copies === 1) return [];
          return [{ promise: 'scenario', what: `one submission became ${accepted} messages and ${copies} copies` }];
        },
      },
    ),
});

/** SMTP clients that identify a message by its Message-ID may repeat the submission too. */
export const SUBMISSION_CRASHES: readonly Scenario[] = (
  ['before-append-accepted', 'after-append-accepted'] as const
).map(diesAt);
