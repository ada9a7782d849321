import { evaluateReputation } from '../../src/commands/reputation.ts';
import { askIn, untilAnswered } from '../harness/asking.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import type { World } from '../harness/world.ts';
import { asOperator } from './as-operator.ts';
import { inWorld } from './in-world.ts';

const MESSAGES = 6;

const isKeptBack = ({ status, text }: { readonly status: number; readonly text: string }): boolean =>
  status === 200 && text.includes('bulk mail of the organization is paused');

const isDone = ({ status }: { readonly status: number }): boolean => status === 200;

const PATH = '/v1/organization/release';

/**
 * Pauses the organization for invented rates, because nothing has been sent yet. An organization with one domain is not
 * evaluated, so only the release ends the pause.
 */
const pauseOrganization = (world: World): Promise<void> =>
  asOperator(world, ({ context }, { organizationId }) => {
    const counts = { releasedAt: null, delivered: 900, bounced: 100, complained: 0 };
    const limits = { bounces: [2, 4, 5], complaints: null } as const;
    return evaluateReputation(context, { domainId: null, organizationId, counts, limits });
  });

/** Waits until the explanation of every message says that it is held. */
const untilKeptBack = async (world: World): Promise<void> => {
  const { load, sink } = world;
  for (const { id } of load.accepted) {
    await untilAnswered(askIn(world), { path: `/v1/messages/${id}/explain` }, isKeptBack);
  }
  if (sink.mails.length > 0) throw new Error('mail of an organization that is paused has left');
};

/** Each message must have been held by one event until the organization's single release. */
const eachWaitedOnce = ({ events }: Evidence): readonly Violation[] => {
  const kept = events.flatMap(({ type, stream }) => (type === 'RecipientsHeld' ? [stream] : []));
  const released = events.flatMap(({ type }, index) => (type === 'OrganizationSendingReleased' ? [index] : []));
  const left = events.findIndex(({ type }) => type === 'AttemptStarted');
  if (kept.length === MESSAGES && new Set(kept).size === MESSAGES && released.length === 1 && left > (released[0] ?? 0))
    return [];
  return [
    {
      promise: 'scenario',
      what: `${kept.length} holds of ${new Set(kept).size} messages, ${released.length} releases, the first attempt at ${left} of the log`,
    },
  ];
};

const JUDGING = { doubles: 'never', more: eachWaitedOnce } as const;

const diesOfHolding = (point: FailPointName): Scenario => ({
  name: `killed ${point} by mail of a paused organization`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, load } = world;
        await pauseOrganization(world);
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        await load.bulk(MESSAGES);
        await programs.died();
        await programs.start();
        await load.settle();
        await untilKeptBack(world);
        await untilAnswered(askIn(world), { path: PATH, body: {} }, isDone);
      },
      JUDGING,
    ),
});

interface Releasing {
  readonly point: FailPointName;
  /** True if the next process completes the release without another request. */
  readonly isSaid: boolean;
}

const diesOfReleasing = ({ point, isSaid }: Releasing): Scenario => ({
  name: `killed ${point} by the release of a paused organization`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, load } = world;
        await pauseOrganization(world);
        const ask = askIn(world);
        await programs.start();
        await load.bulk(MESSAGES);
        await untilKeptBack(world);
        programs.kill();
        await programs.died();
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        if ((await ask(PATH, {})) !== null) throw new Error('the release was answered by a process that died of it');
        await programs.died();
        await programs.start();
        if (isSaid) return;
        await untilKeptBack(world);
        await untilAnswered(ask, { path: PATH, body: {} }, isDone);
      },
      JUDGING,
    ),
});

/** A held message is held once however often it is looked at, and is sent after the release. */
export const HOLD_CRASHES: readonly Scenario[] = [
  ...(['before-append-held', 'after-append-held'] as const).map(diesOfHolding),
  diesOfReleasing({ point: 'before-append-release', isSaid: false }),
  diesOfReleasing({ point: 'after-append-release', isSaid: true }),
];
