import { load } from '../../commands/execute.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import { type Message, message } from '../../domain/message/message.ts';
import type { System } from '../../lib/async/async.ts';
import { type AttemptTimes, isHeld, type SuccessfulClaim } from './claim.ts';
import type { UnrecordedOutcomes } from './record.ts';

/**
 * The fence keeps an attempt from completing a message that another worker may hold by now: it decides right before the final
 * dot. A lease may end unnoticed: the process was stopped, its event loop stood still, or the whole machine was suspended.
 * Two clocks show most of that; for what no clock of this machine shows, the log is asked whether the claim is still in
 * force. An attempt within its time costs no read. Nor does the fence let a message be completed while the log is behind
 * with the outcomes of others (`UnrecordedOutcomes`).
 */

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
 * How old the log's confirmation of a claim may be at the final dot. Longer: a machine that was suspended without its
 * clocks showing it may send mail that another worker has claimed. Shorter: slow mail servers cost a read of the log each.
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
  readonly claim: SuccessfulClaim;
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

  /** Asks again if the answer was too late to prove anything: the process may have been suspended. */
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
