import { setTimeout as sleep } from 'node:timers/promises';
import { endWarmUp, startWarmUp } from '../../src/commands/warm-up.ts';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import { type DailyQuotaEvent, dayAfter } from '../../src/domain/warm-up/warm-up.ts';
import { type Evidence, readLog } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import { messagesOf } from '../harness/messages-of.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import { asOperator, untilInLog } from './as-operator.ts';
import { inWorld } from './in-world.ts';

/** The daily cap. It is reserved in portions of at least two. */
const CAP = 40;
/** Above the cap, and few enough that the rest fits into tomorrow. */
const MESSAGES = 60;
/** Messages per portion and the pause after it. One burst would reserve the whole cap in one or two appends. */
const PORTION = 6;
const PORTION_MS = 150;

type ReservationEvent = Extract<RecordedEvent<DailyQuotaEvent>, { type: 'WarmUpPlacesTaken' }>;
type HoldEvent = Extract<RecordedEvent<MessageEvent>, { type: 'RecipientsHeld' }>;

interface Counts {
  readonly taken: number;
  /** Number of distinct recipients with at least one attempt. */
  readonly sent: number;
}

const countsOf = (events: readonly RecordedEvent[]): Counts => {
  const taken = events.filter((event): event is ReservationEvent => event.type === 'WarmUpPlacesTaken');
  const sent = events.flatMap(({ type, data }) => (type === 'AttemptStarted' ? data.recipientIds : []));
  const places = taken.flatMap(({ data }) => data.taken.map(({ places: some }) => some));
  return { taken: places.reduce((sum, some) => sum + some, 0), sent: new Set(sent).size };
};

const dayOfEvent = ({ metadata }: RecordedEvent): string => metadata.occurredAt.slice(0, 'YYYY-MM-DD'.length);

const violation = (what: string): Violation => ({ promise: 'scenario', what });

/** @param lost quota that the dead process had reserved and not used. */
const problemsIn = ({ events }: Evidence, lost: number): readonly Violation[] => {
  const ended = events.findIndex(({ type }) => type === 'WarmUpEnded');
  const during = events.slice(0, ended);
  const held = during.filter((event): event is HoldEvent => event.type === 'RecipientsHeld');
  const late = held.filter(
    (event) => event.data.until.slice(0, 'YYYY-MM-DD'.length) !== dayAfter(dayOfEvent(event), 1),
  );
  const { taken, sent } = countsOf(during);
  // The quota is renewed at midnight.
  const isOneDay = new Set(during.filter(({ type }) => type === 'WarmUpPlacesTaken').map(dayOfEvent)).size === 1;
  return [
    ...(isOneDay && taken !== CAP ? [violation(`${taken} places were taken of ${CAP}`)] : []),
    ...(isOneDay && sent !== CAP - lost
      ? [violation(`${sent} were sent to, of ${CAP} places, ${lost} of them lost`)]
      : []),
    ...(late.length > 0 ? [violation(`${late.length} recipients have no turn tomorrow`)] : []),
  ];
};

/** True if every message has been delivered or has a scheduled turn. */
const isNoneDue = (log: readonly RecordedEvent[]): boolean => {
  const recipients = messagesOf(log).flatMap((message) => message.recipients);
  return (
    recipients.length === MESSAGES && recipients.every(({ status, held }) => status === 'delivered' || held !== null)
  );
};

const NONE_DUE = { looksMax: 150, never: 'some messages are neither sent nor held' };

/** @param passing number of the quota reservation to die at. */
const diesAt = (point: FailPointName, passing: number): Scenario => {
  let lost = 0;
  return {
    name: `killed ${point}#${passing} by mail of a domain that is warmed up`,
    run: () =>
      inWorld(
        {},
        async (world) => {
          const { programs, load } = world;
          await asOperator(world, ({ context }, { origin, domainId }) =>
            startWarmUp(context, origin, { domainId, caps: [CAP, MESSAGES, MESSAGES] }),
          );
          await programs.startToDie({ OUTBOX_FAIL_POINT: `${point}#${passing}` });
          for (let sent = 0; sent < MESSAGES; sent += PORTION) {
            await load.bulk(PORTION);
            await sleep(PORTION_MS);
          }
          await programs.died();
          await asOperator(world, async (operator) => {
            const { taken, sent } = countsOf(await readLog(operator));
            lost = taken - sent;
          });
          await programs.start();
          await load.settle();
          await untilInLog(world, isNoneDue, NONE_DUE);
          await asOperator(world, ({ context }, { origin, domainId }) => endWarmUp(context, origin, domainId));
        },
        { more: (evidence) => problemsIn(evidence, lost) },
      ),
  };
};

/** Quota is reserved in the log before it is used: a cap is never exceeded, and what a dead process reserved is lost for the day. */
export const WARM_UP_CRASHES: readonly Scenario[] = [
  diesAt('before-append-places', 1),
  diesAt('before-append-places', 3),
  diesAt('after-append-places', 1),
  diesAt('after-append-places', 3),
];
