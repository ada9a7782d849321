import { pause } from '../../async/with-timeout.ts';
import { load } from '../../commands/execute.ts';
import { type Message, message } from '../../domain/message/message.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import { messageStream } from '../../domain/streams.ts';
import type { AttemptTimes } from './deliver-message.ts';
import type { Claimed } from './outgoing-mails.ts';

/**
 * Keeps an attempt from completing a message that may be somebody else's by now. Its lease may have ended unnoticed: the
 * process was stopped, its event loop stood still, or the whole machine was paused. Two clocks tell most of that; for what
 * no clock of this machine shows, the log is asked whether the claim still stands. An attempt that goes as it should
 * costs no read. Nor does it complete a message while the log is behind with what became of others.
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

/** Outcomes that mail servers have given and the log has not taken yet. */
export interface UnrecordedOutcomes {
  /** Counts while `record` runs. */
  during<Result>(record: () => Promise<Result>): Promise<Result>;
  /** Whether another message may be claimed, or completed. */
  hasRoom(): boolean;
  /**
   * Resolves when it may: each that was recorded lets one caller go on.
   * @param isWanted looked at again and again: without a use for the room it resolves soon too.
   */
  room(isWanted: () => boolean): Promise<void>;
  /** For who had its turn and did not use it. */
  passOn(): void;
}

/**
 * A process that is killed sends each of them once more. With a log that takes 30 ms this many are 1,000 in a second; more
 * only wait in a log that is busy. Fewer slow delivery down, more are doubled by a crash.
 */
const UNRECORDED_MAX = 32;
/** A log that takes longer gets fewer at a time: as many in a second, though never fewer than the next number. */
const QUICK_MS = 100;
const UNRECORDED_MAX_OF_SLOW = 8;
/** Part of the last one in the time that recording is taken to need. More reacts to a single slow commit. */
const NEWEST = 0.1;

const roomAt = (recordMs: number): number =>
  Math.max(UNRECORDED_MAX_OF_SLOW, Math.min(UNRECORDED_MAX, Math.floor((UNRECORDED_MAX * QUICK_MS) / recordMs)));

/** A caller that nobody lets go on looks again by itself: one before it may have ended with nothing to record. */
const LOOK_AGAIN_MS = 250;

export const createUnrecordedOutcomes = (system: Pick<System, 'monotonicMs' | 'sleep'>): UnrecordedOutcomes => {
  const { monotonicMs } = system;
  const waiting = new Set<() => void>();
  let count = 0;
  let recordMs = 0;
  const hasRoom = (): boolean => count < roomAt(recordMs);
  const passOn = (): void => {
    const [next] = waiting;
    if (next === undefined || !hasRoom()) return;
    waiting.delete(next);
    next();
  };

  /** @returns whether its turn came. */
  const turn = async (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = new AbortController();
    waiting.add(resolve);
    await Promise.race([promise, pause(system, LOOK_AGAIN_MS, over.signal)]);
    over.abort();
    return !waiting.delete(resolve);
  };

  return {
    during: async (record) => {
      const beganMs = monotonicMs();
      count += 1;
      try {
        return await record();
      } finally {
        count -= 1;
        recordMs += NEWEST * (monotonicMs() - beganMs - recordMs);
        passOn();
      }
    },
    hasRoom,
    room: async (isWanted) => {
      while (!hasRoom() && isWanted()) if (await turn()) return;
    },
    passOn,
  };
};

export interface ClaimFence {
  readonly store: EventStore;
  readonly system: Pick<System, 'monotonicMs' | 'now' | 'sleep'>;
  readonly times: AttemptTimes;
  readonly unrecorded: UnrecordedOutcomes;
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
  { store, system, times, unrecorded }: ClaimFence,
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
  const heardInTime = async (): Promise<boolean> => {
    while (isInTime()) {
      if (isFresh()) return true;
      if ((await hear()) === false) return false;
    }
    return false;
  };

  const wait = async (): Promise<boolean> => {
    if (!unrecorded.hasRoom()) await unrecorded.room(isInTime);
    const may = await heardInTime();
    if (!may) unrecorded.passOn();
    return may;
  };

  return () => isInTime() && ((isFresh() && unrecorded.hasRoom()) || wait());
};
