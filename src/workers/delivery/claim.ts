import { type Loaded, load } from '../../commands/execute.ts';
import { type Claim, type ClaimAttempt, claimAttempt } from '../../commands/message/claim-attempt.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { random } from '../../domain/jitter.ts';
import { type Message, message } from '../../domain/message/message.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import { messageStream } from '../../domain/streams.ts';
import type { SendingDomains } from '../domains/sending-domains.ts';
import { countEndedUnsent, type DeliveryMetrics } from './attempt-log.ts';
import type { Due, RecentlyQueued } from './due.ts';
import type { UnrecordedOutcomes } from './unrecorded-outcomes.ts';

/**
 * Claims of attempts, and the fence that keeps an attempt from completing a message that somebody else may hold by now.
 *
 * A claim is an event in the message's stream, with a lease: of two workers that claim at once, one gets a conflict. A
 * lease may end unnoticed: the process was stopped, its event loop stood still, or the whole machine was paused. Two clocks
 * show most of that; for what no clock of this machine shows, the log is asked whether the claim still stands. An attempt
 * that goes as it should costs no read. Nor does the fence let a message be completed while the log is behind with the
 * outcomes of others (`UnrecordedOutcomes`).
 */

/** How long an attempt may take, and how long nobody else may make one. */
export interface AttemptTimes {
  /** No final dot leaves later than this after the claim. */
  readonly attemptMs: number;
  /** Longer than `attemptMs` by what recording the outcome may take. */
  readonly leaseMs: number;
}

export type Claimed = Extract<Claim, { claimed: true }>;

export interface ClaimParts {
  readonly store: EventStore;
  readonly times: AttemptTimes;
  readonly system: System;
  readonly sendingDomains: Pick<SendingDomains, 'isDeletedFor'>;
  /** Why mail has to wait though it is due. Absent: nothing holds it. */
  readonly holdOf?: NonNullable<ClaimAttempt['holdOf']>;
  /** Mail that may have left before a restore, which the operator has to release. Absent: there is none. */
  readonly isHeldAfterRestore?: ((message: Message) => boolean) | undefined;
  readonly recentlyQueued: Pick<RecentlyQueued, 'addNotDue'>;
  /** Absent: nothing is counted. */
  readonly metrics?: DeliveryMetrics | undefined;
}

/** Simulated mail is not counted. */
export const isLive = (state: Message): boolean => state.status !== 'absent' && state.environment === 'live';

/**
 * Claims the next attempt, unless the recipients are suppressed, held, expired or gone.
 * @returns null: nothing is due, or another worker holds it.
 */
export const claimDue = async (parts: ClaimParts, due: Due, known: Loaded<Message>): Promise<Claimed | null> => {
  const { times, system, sendingDomains, holdOf } = parts;
  const { messageId, destination } = due;
  const since = system.now().toISOString();
  try {
    const claim = await claimAttempt(parts, {
      messageId,
      known,
      destination: destination ?? undefined,
      leaseMs: times.leaseMs,
      random: random(system),
      isDomainDeleted: sendingDomains.isDeletedFor,
      ...(holdOf === undefined ? {} : { holdOf }),
    });
    if (isLive(known.state)) countEndedUnsent(parts.metrics, claim.events);
    if (claim.events.length === 0) parts.recentlyQueued.addNotDue(due, since);
    return claim.claimed ? claim : null;
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
};

/** Whether any recipient is still leased to this attempt. */
export const isHeld = (
  state: Message,
  attempt: number,
  isOurs: (recipientId: string) => boolean = () => true,
): boolean =>
  state.status !== 'absent' && state.recipients.some(({ id, lease }) => isOurs(id) && lease?.attempt === attempt);

/** A moment by both clocks: the monotonic one stands still while a machine is suspended, the wall clock may be set. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export const momentOf = (system: Pick<System, 'monotonicMs' | 'now'>): Moment => ({
  monotonicMs: system.monotonicMs(),
  wallMs: system.now().getTime(),
});

/** By the clock that has run further. */
const elapsedMs = (system: Pick<System, 'monotonicMs' | 'now'>, since: Moment): number => {
  const now = momentOf(system);
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
};

/**
 * How old the log's confirmation of a claim may be at the final dot. Longer lets a machine that is paused without its
 * clocks showing it send what somebody else has taken over, shorter costs slow mail servers a read of the log each.
 */
const CONFIRMED_MS_MAX = 10_000;
/** Short attempts have short leases: a part of the attempt's time. */
const CONFIRMED_PART_MAX = 0.25;
/** A log that does not answer is asked again so often, for as long as the attempt may last. */
const ASK_AGAIN_MS = 200;

export interface Fence {
  readonly store: EventStore;
  readonly system: Pick<System, 'monotonicMs' | 'now' | 'sleep'>;
  readonly times: AttemptTimes;
  readonly unrecorded: UnrecordedOutcomes;
}

export interface FencedAttempt {
  readonly claim: Claimed;
  /** Recipients of the mail. */
  readonly recipientIds: ReadonlySet<string>;
  /** Taken before the claim was appended. */
  readonly begun: Moment;
  /** Taken before the log last confirmed the claim. */
  readonly confirmed: Moment;
  readonly signal: AbortSignal;
}

const isStillHeld = async (
  store: EventStore,
  { claim: { message: known, attempt }, recipientIds }: Pick<FencedAttempt, 'claim' | 'recipientIds'>,
): Promise<boolean> => {
  const stream = messageStream(known.state.accepted.messageId);
  const { state } = await load<Message, Parameters<typeof message.evolve>[1]>(store, message, stream, known);
  return isHeld(state, attempt, (id) => recipientIds.has(id));
};

/** The final dot of an attempt. */
export interface Completion {
  /** Asked by the transport right before the final dot, which leaves if it may. */
  mayComplete(): boolean | Promise<boolean>;
  /** The mail server has answered, or never will. */
  ended(): void;
}

export const completionOf = ({ store, system, times, unrecorded }: Fence, attempt: FencedAttempt): Completion => {
  const confirmedMsMax = Math.min(CONFIRMED_MS_MAX, times.attemptMs * CONFIRMED_PART_MAX);
  const { begun, signal } = attempt;
  let confirmed = attempt.confirmed;
  let ended = (): void => undefined;

  const isInTime = (): boolean => !signal.aborted && elapsedMs(system, begun) < times.attemptMs;
  const isFresh = (): boolean => elapsedMs(system, confirmed) <= confirmedMsMax;

  /** @returns false: the claim was lost; null: the log does not answer. */
  const confirm = async (): Promise<boolean | null> => {
    const asked = momentOf(system);
    try {
      if (!(await isStillHeld(store, attempt))) return false;
      confirmed = asked;
      return true;
    } catch {
      await system.sleep(ASK_AGAIN_MS);
      return null;
    }
  };

  /** Asks again after an answer so late that it proves nothing: the process may have stood still meanwhile. */
  const isConfirmedInTime = async (): Promise<boolean> => {
    while (isInTime()) {
      if (isFresh()) return true;
      if ((await confirm()) === false) return false;
    }
    return false;
  };

  const complete = (): boolean => {
    ended(); // another server took this one's place
    ended = unrecorded.complete();
    return true;
  };

  const wait = async (): Promise<boolean> => {
    while (isInTime()) {
      await unrecorded.room(isInTime);
      if (!(await isConfirmedInTime())) break;
      if (unrecorded.hasRoom()) return complete();
    }
    unrecorded.passOn();
    return false;
  };

  return {
    mayComplete: () => isInTime() && (isFresh() && unrecorded.hasRoom() ? complete() : wait()),
    ended: () => ended(),
  };
};
