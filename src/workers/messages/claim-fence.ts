import { load } from '../../commands/execute.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { type Message, message, messageStream } from '../../domain/message/message.ts';
import type { System } from '../../domain/system.ts';
import type { AttemptTimes } from './deliver-message.ts';
import type { Claimed } from './outgoing-mails.ts';

/**
 * Keeps an attempt from completing a message that may be somebody else's by now. Its lease may have ended unnoticed: the
 * process was stopped, its event loop stood still, or the whole machine was paused. Two clocks tell most of that; for what
 * no clock of this machine shows, the log is asked whether the claim still stands. An attempt that goes as it should
 * costs no read.
 */

/** A moment by both clocks: the monotonic one stands still while a machine is suspended, the other may be set. */
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
 * How old the log's word on a claim may be at the final dot. Longer lets a machine that is paused without its clocks
 * showing it send what somebody else has taken over, shorter costs slow mail servers a read of the log each.
 */
const HEARD_MS_MAX = 10_000;
/** Where attempts are short, so is their lease: a part of it. */
const HEARD_PART_MAX = 0.25;
/** A log that does not answer is asked again so often, as long as the attempt may last. */
const ASK_AGAIN_MS = 200;

export interface ClaimFence {
  readonly store: EventStore;
  readonly system: Pick<System, 'monotonicMs' | 'now' | 'sleep'>;
  readonly times: AttemptTimes;
}

export interface FencedAttempt {
  readonly claim: Claimed;
  /** Whom the mail is for. */
  readonly recipientIds: ReadonlySet<string>;
  /** Taken before the claim was appended. */
  readonly begun: Moment;
  /** Taken before the log said, or was told, something of the claim for the last time. */
  readonly heard: Moment;
  readonly signal: AbortSignal;
}

const isStillHeld = async (
  store: EventStore,
  { claim: { message: known, attempt }, recipientIds }: Pick<FencedAttempt, 'claim' | 'recipientIds'>,
): Promise<boolean> => {
  const stream = messageStream(known.state.accepted.messageId);
  const { state } = await load<Message, Parameters<typeof message.evolve>[1]>(store, message, stream, known);
  if (state.status === 'absent') return false;
  return state.recipients.some(({ id, lease }) => recipientIds.has(id) && lease?.attempt === attempt);
};

/** @returns the question that a transport asks right before the final dot. */
export const mayCompleteOf = (
  { store, system, times }: ClaimFence,
  attempt: FencedAttempt,
): (() => boolean | Promise<boolean>) => {
  const heardMsMax = Math.min(HEARD_MS_MAX, times.attemptMs * HEARD_PART_MAX);
  const { begun, signal } = attempt;
  let last = attempt.heard;

  const isInTime = (): boolean => !signal.aborted && elapsedMs(system, begun) < times.attemptMs;
  const isFresh = (): boolean => elapsedMs(system, last) <= heardMsMax;

  /** @returns false: it was lost; null: the log does not say. */
  const hear = async (): Promise<boolean | null> => {
    const asked = momentOf(system);
    try {
      if (!(await isStillHeld(store, attempt))) return false;
      last = asked;
      return true;
    } catch {
      await system.sleep(ASK_AGAIN_MS);
      return null;
    }
  };

  /** Again after each answer that came so late that it tells nothing: the process may have stood still meanwhile. */
  const ask = async (): Promise<boolean> => {
    while (isInTime()) {
      if (isFresh()) return true;
      if ((await hear()) === false) return false;
    }
    return false;
  };

  return () => isInTime() && (isFresh() || ask());
};
