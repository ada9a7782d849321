import type { FailPointName } from '../../src/composition/fail-points.ts';
import { askIn, untilAnswered } from '../harness/asking.ts';
import type { Evidence } from '../harness/evidence.ts';
import { SENDER } from '../harness/provision.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import { inWorld } from './in-world.ts';

const GONE = 'gone@example.net';

const message = (subject: string) => ({ ...{ from: SENDER, to: [GONE], subject }, text: 'Hello' });

const statusIs =
  (wanted: string) =>
  ({ text }: { readonly text: string }): boolean =>
    JSON.parse(text).status === wanted;

const countIs = ({ events }: Evidence, type: string, wanted: number): readonly Violation[] => {
  const found = events.filter((event) => event.type === type).length;
  return found === wanted ? [] : [{ promise: 'suppressions', what: `${type} is ${found} times in the log` }];
};

/** Whoever reads the log again after a crash reads the bounce again. */
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

/** The addition is made before the checkpoint moves past its reason: between the two it is made again. */
export const SUPPRESSION_CRASHES: readonly Scenario[] = (
  ['before-append-suppression', 'after-append-suppression'] as const
).map(diesAt);
