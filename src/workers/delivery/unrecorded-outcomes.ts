import type { System } from '../../domain/ports/system.ts';

/** Limits the messages that a crash would send once more: completed, and not on record yet. */
export interface UnrecordedOutcomes {
  /** Counts a message whose final dot leaves now. @returns ends that: its mail server has answered, or never will. */
  complete(): () => void;
  /** Counts an outcome while `record` runs. */
  during<Result>(record: () => Promise<Result>): Promise<Result>;
  /** Whether another message may be claimed, or completed. */
  hasRoom(): boolean;
  /**
   * Resolves when there is room: each outcome that is recorded lets one caller go on.
   * @param isWanted asked now and then: a caller without a use for the room goes on soon too.
   */
  room(isWanted: () => boolean): Promise<void>;
  /** Lets the next caller go on: this one had its turn and does not use it. */
  passOn(): void;
}

/**
 * A process that is killed sends each of them once more. With a log that takes 30 ms this many are 1,000 in a second; more
 * only wait in a log that is busy. Fewer slow delivery down, more are doubled by a crash.
 */
const UNRECORDED_MAX = 32;
/** A slower log gets fewer at a time: as many in a second, though never fewer than the next number. */
const QUICK_MS = 100;
const UNRECORDED_MAX_OF_SLOW = 8;
/**
 * How long a mail server that has a message in hand counts. Longer lets slow servers hold up the mail to all others:
 * together they complete no more than `UNRECORDED_MAX` in this time. Shorter leaves out more of what a crash doubles.
 */
const IN_HAND_MS_MAX = 50;
/** Weight of the newest in the moving average of the time that recording takes. More reacts to a single slow commit. */
const NEWEST = 0.1;
/** In so many of these times a caller that nobody lets go on looks whether it is still wanted. */
const LOOKS_EVERY = 5;

const roomAt = (recordMs: number): number =>
  Math.max(UNRECORDED_MAX_OF_SLOW, Math.min(UNRECORDED_MAX, Math.floor((UNRECORDED_MAX * QUICK_MS) / recordMs)));

export const createUnrecordedOutcomes = (system: Pick<System, 'monotonicMs' | 'sleep'>): UnrecordedOutcomes => {
  const { monotonicMs } = system;
  /** Told whether it is their turn; else they look again. */
  const waiting = new Set<(isTurn: boolean) => void>();
  /** In the order of their final dots. */
  const inHand = new Set<{ readonly untilMs: number }>();
  let recording = 0;
  let recordMs = 0;
  let isTicking = false;

  const forgetSlow = (): void => {
    const nowMs = monotonicMs();
    for (const one of inHand) {
      if (one.untilMs > nowMs) return;
      inHand.delete(one);
    }
  };
  const freePlaces = (): number => {
    forgetSlow();
    return roomAt(recordMs) - recording - inHand.size;
  };
  const hasRoom = (): boolean => freePlaces() > 0;
  const letGo = (places: number): void => {
    let left = places;
    for (const next of waiting) {
      if (left <= 0) return;
      left -= 1;
      waiting.delete(next);
      next(true);
    }
  };
  const passOn = (): void => letGo(Math.min(1, freePlaces()));
  const lookAgain = (): void => {
    for (const look of waiting) look(false);
    waiting.clear();
  };

  /** One timer for all that wait: room may come without a record, as slow servers cease to count. */
  const tick = async (): Promise<void> => {
    isTicking = true;
    for (let ticks = 1; waiting.size > 0; ticks += 1) {
      await system.sleep(IN_HAND_MS_MAX);
      if (ticks % LOOKS_EVERY === 0) lookAgain();
      else letGo(freePlaces());
    }
    isTicking = false;
  };

  /** @returns whether the caller's turn came. */
  const turn = (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    waiting.add(resolve);
    if (!isTicking) void tick();
    return promise;
  };

  return {
    complete: () => {
      const one = { untilMs: monotonicMs() + IN_HAND_MS_MAX };
      inHand.add(one);
      return () => void inHand.delete(one);
    },
    during: async (record) => {
      const beganMs = monotonicMs();
      recording += 1;
      try {
        return await record();
      } finally {
        recording -= 1;
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
