import { askIn, untilAnswered } from '../harness/asking.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import { SENDER } from '../harness/provision.ts';
import { unsubscribePathOf } from '../harness/received-mail.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';

const GONE = 'gone@example.net';

const message = (subject: string) => ({ from: SENDER, to: [GONE], subject, text: 'Hello' });

const statusIs =
  (wanted: string) =>
  ({ text }: { readonly text: string }): boolean =>
    JSON.parse(text).status === wanted;

const countIs = ({ events }: Evidence, type: string, wanted: number): readonly Violation[] => {
  const found = events.filter((event) => event.type === type).length;
  return found === wanted ? [] : [{ promise: 'suppressions', what: `${type} is ${found} times in the log` }];
};

/** After a crash the reader processes the bounce again. */
const diesAt = (point: FailPointName): Scenario => ({
  name: `killed ${point} by a bounce`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, sink, load } = world;
        const ask = askIn(world);
        sink.at({ command: 'RCPT', when: 'arrived' }, () => ({ reply: '550 5.1.1 no such mailbox' }));
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        const first = await ask('/v1/messages/send', message('first'));
        await programs.died();
        await programs.start();
        const { id } = JSON.parse(first?.text ?? '');
        await untilAnswered(ask, { path: `/v1/messages/${id}` }, statusIs('bounced'));
        await untilAnswered(ask, { path: '/v1/suppressions' }, ({ text }) => JSON.parse(text).data.length === 1);
        const second = await ask('/v1/messages/send', message('second'));
        await untilAnswered(ask, { path: `/v1/messages/${JSON.parse(second?.text ?? '').id}` }, statusIs('suppressed'));
        await load.singles(4);
      },
      {
        more: (evidence) => [
          ...countIs(evidence, 'RecipientBounced', 1),
          ...countIs(evidence, 'SuppressionAdded', 1),
          ...countIs(evidence, 'RecipientSuppressed', 1),
        ],
      },
    ),
});

/** A message to a suppressed address is not sent, and one event records that. */
const diesOfNotSending = (point: FailPointName): Scenario => ({
  name: `killed ${point} by mail to a suppressed address`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, sink, load } = world;
        const ask = askIn(world);
        await programs.start();
        const body = { address: GONE };
        await untilAnswered(ask, { path: '/v1/suppressions', body }, ({ status }) => status === 201);
        programs.kill();
        await programs.died();
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        const answer = await ask('/v1/messages/send', message('first'));
        await programs.died();
        await programs.start();
        const { id } = JSON.parse(answer?.text ?? '');
        await untilAnswered(ask, { path: `/v1/messages/${id}` }, statusIs('suppressed'));
        if (sink.mails.length > 0) throw new Error('mail left for a suppressed address');
        await load.singles(4);
      },
      { more: (evidence) => countIs(evidence, 'RecipientSuppressed', 1) },
    ),
});

/**
 * Follows the link of the first delivered mail like a mail program does (RFC 8058 §3.2). @returns the status; null: no
 * response.
 */
const unsubscribe = async ({ programs, sink }: World): Promise<number | null> => {
  const [path] = sink.mails.map(unsubscribePathOf);
  const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
  try {
    return (await fetch(programs.baseUrl() + path, { method: 'POST', body })).status;
  } catch {
    return null;
  }
};

/** The request was not answered, so it is repeated. */
const diesOfUnsubscribing = (point: FailPointName): Scenario => ({
  name: `killed ${point} by an unsubscription`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs } = world;
        const ask = askIn(world);
        const news = { ...message('News'), stream: 'bulk', unsubscribe: 'managed' };
        await programs.start();
        const first = JSON.parse((await ask('/v1/messages/send', news))?.text ?? '');
        await untilAnswered(ask, { path: `/v1/messages/${first.id}` }, statusIs('delivered'));
        programs.kill();
        await programs.died();
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        if ((await unsubscribe(world)) !== null) throw new Error('it was answered by a process that died of it');
        await programs.died();
        await programs.start();
        if ((await unsubscribe(world)) !== 200) throw new Error('it is not taken');
        await untilAnswered(ask, { path: '/v1/suppressions' }, ({ text }) => JSON.parse(text).data.length === 1);
        const second = JSON.parse((await ask('/v1/messages/send', news))?.text ?? '');
        await untilAnswered(ask, { path: `/v1/messages/${second.id}` }, statusIs('suppressed'));
      },
      {
        more: (evidence) => [
          ...countIs(evidence, 'RecipientUnsubscribed', 1),
          ...countIs(evidence, 'SuppressionAdded', 1),
        ],
      },
    ),
});

/**
 * A suppression is added before the checkpoint moves past the event that caused it. After a crash in between it is
 * added again.
 */
export const SUPPRESSION_CRASHES: readonly Scenario[] = [
  ...(['before-append-suppression', 'after-append-suppression'] as const).map(diesAt),
  ...(['before-append-unsent', 'after-append-unsent'] as const).map(diesOfNotSending),
  ...(['before-append-unsubscription', 'after-append-unsubscription'] as const).map(diesOfUnsubscribing),
];
