import { askIn, untilAnswered } from '../harness/asking.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import { handIn } from '../harness/hand-in.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';

const LISTENING = /"port":(\d+)[^\n]*receiving bounces and complaints/g;

/** A report (RFC 3464) by another server that a mailbox no longer exists. */
const report = (address: string): string =>
  [
    'From: MAILER-DAEMON@mx.example.net',
    'Subject: Undelivered Mail Returned to Sender',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=B',
    '',
    '--B',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example.net',
    '',
    `Final-Recipient: rfc822; ${address}`,
    'Action: failed',
    'Status: 5.1.1',
    `Diagnostic-Code: smtp; 550 5.1.1 <${address}>: User unknown`,
    '',
    '--B--',
    '',
  ].join('\r\n');

/**
 * Delivers a report about the first mail, like a server that retries until it gets a 250. @returns true if it got one.
 */
const bring = ({ programs, sink }: World): Promise<boolean> => {
  const [mail] = sink.mails;
  const port = Number([...programs.running().output().matchAll(LISTENING)].at(-1)?.[1]);
  return handIn({ port }, { envelope: { from: '', to: [mail?.from ?? ''] }, raw: report(mail?.to[0] ?? '') });
};

/** No 250 was sent, so the report is delivered again. */
const diesAt = (point: FailPointName): Scenario => ({
  name: `killed ${point} by a report`,
  run: () =>
    inWorld(
      { env: () => ({ BOUNCE_DOMAIN: 'bounces.chaos.example', BOUNCE_PORT: '0', LOG_LEVEL: 'info' }) },
      async (world) => {
        const { programs, load } = world;
        const ask = askIn(world);
        const isShown = (status: string): Promise<string> =>
          untilAnswered(
            ask,
            { path: `/v1/messages/${load.accepted[0]?.id}` },
            ({ text }) => JSON.parse(text).status === status,
          );
        await programs.start();
        await load.singles(1);
        await isShown('delivered');
        programs.kill();
        await programs.died();
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        if (await bring(world)) throw new Error('the report was answered 250 by a process that died of it');
        await programs.died();
        await programs.start();
        if (!(await bring(world))) throw new Error('the report is not taken');
        await isShown('bounced');
      },
      {
        more: ({ events }) => {
          const found = events.filter(({ type }) => type === 'RecipientBounced').length;
          return found === 1 ? [] : [{ promise: 'scenario', what: `the report is ${found} times in the log` }];
        },
      },
    ),
});

/** A report must be in the log before its sender is answered, and only once however often it arrives. */
export const RETURNED_MAIL_CRASHES: readonly Scenario[] = (
  ['before-append-report', 'after-append-report'] as const
).map(diesAt);
