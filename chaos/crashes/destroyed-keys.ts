import { rotateDkim, verifyDomain } from '../../src/commands/sending-domain/change-domain.ts';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import { recordsToPublish } from '../../src/domain/sending-domain/records-to-publish.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import type { World } from '../harness/world.ts';
import { asOperator, untilInLog } from './as-operator.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

const DAY_MS = 86_400_000;
/** Records of retired keys must stay published for less than this. */
const AGO_MS = 8 * DAY_MS;

/**
 * Rotates twice: the second key pair has been active long enough that the first is unused, and a third waits for its
 * DNS record.
 */
const rotateTwice = ({ dns, ...world }: World): Promise<void> =>
  asOperator(world, async ({ context }, { origin, domainId }) => {
    const now = (): Date => new Date(Date.now() - AGO_MS);
    const past = { ...context, capturing: false, system: { ...context.system, now } };
    const { domain } = await rotateDkim(past, origin, { domainId });
    const records = recordsToPublish(domain, { bounceDomain: null, trackingTarget: null });
    const texts = records.filter(({ type }) => type === 'TXT');
    dns.change(Object.fromEntries(texts.map(({ host, value }) => [host, { TXT: [value] }])));
    await verifyDomain(past, origin, { domainId });
    await rotateDkim(context, origin, { domainId });
  });

/** Key destruction needs no request: it happens soon after a start. */
const isOnRecord = (log: readonly RecordedEvent[]): boolean => log.some(({ type }) => type === 'DkimKeysDestroyed');

const ON_RECORD = { looksMax: 100, never: 'the unused keys are still there' };

/** Checks the oldest key pair. Other rules check that destroyed keys are gone and no others are. */
const firstPairOnce = ({ events, keys }: Evidence): readonly Violation[] => {
  const said = events.filter(({ type }) => type === 'DkimKeysDestroyed').length;
  const gone = keys.flatMap(({ isDestroyed }, age) => (isDestroyed ? [age] : []));
  if (said === 1 && gone.join() === '0,1') return [];
  return [{ promise: 'scenario', what: `of ${keys.length} keys ${gone.join()} are destroyed, by ${said} events` }];
};

const diesAt = (point: FailPointName): Scenario => ({
  name: `killed ${point} by unused keys`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, load } = world;
        await rotateTwice(world);
        await programs.startToDie({ OUTBOX_FAIL_POINT: point });
        await programs.died();
        await programs.start();
        await sendAll(load);
        await untilInLog(world, isOnRecord, ON_RECORD);
      },
      { more: firstPairOnce },
    ),
});

/**
 * Keys are destroyed before that is recorded. A crash in between repeats the destruction, which must not touch active
 * or future keys.
 */
export const DESTROYED_KEY_CRASHES: readonly Scenario[] = (
  ['before-secret-destroy', 'after-secret-destroy', 'before-append-destroyed', 'after-append-destroyed'] as const
).map(diesAt);
