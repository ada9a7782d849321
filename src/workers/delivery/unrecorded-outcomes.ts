import type { System } from '../../lib/async/async.ts';

/** Limits the messages that a crash would send again: completed, but not recorded yet. */
export interface UnrecordedOutcomes {
  /** Counts a message whose final dot is sent now. @returns to be called when its mail server has answered, or never will. */
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
  /** Lets the next caller go on instead of this one. */
  passOn(): void;
}

/**
 * A process that is killed sends each of them again. With appends of 30 ms this many make 1,000 a second. Lower slows
 * delivery down; higher makes a crash send more twice.
 */
const UNRECORDED_MAX = 32;
/** A slower log gets fewer at a time, but as many a second, and never fewer than the next number. */
const QUICK_MS = 100;
const UNRECORDED_MAX_OF_SLOW = 8;
/**
 * How long a message counts while its mail server does not answer. Longer lets slow servers delay the mail to all others:
 * together they complete no more than `UNRECORDED_MAX` in this time. Shorter leaves out more of what a crash sends twice.
 */
const IN_FLIGHT_MS_MAX = 50;
/** Weight of the newest sample in the moving average of recording times. Higher reacts to a single slow commit. */
const NEWEST = 0.1;
/** After this many ticks a waiting caller checks whether it is still wanted. */
const LOOKS_EVERY = 5;

const roomAt = (recordMs: number): number =>
  Math.max(UNRECORDED_MAX_OF_SLOW, Math.min(UNRECORDED_MAX, Math.floor((UNRECORDED_MAX * QUICK_MS) / recordMs)));

export const createUnrecordedOutcomes = (system: Pick<System, 'monotonicMs' | 'sleep'>): UnrecordedOutcomes => {
  const { monotonicMs } = system;
  /** Called with whether it is the caller's turn; if not, it checks again. */
  const waiting = new Set<(isTurn: boolean) => void>();
  /** In the order of their final dots. */
  const inFlight = new Set<{ readonly untilMs: number }>();
  let recording = 0;
  let recordMs = 0;
  let isTicking = false;

  const forgetSlow = (): void => {
    const nowMs = monotonicMs();
    for (const one of inFlight) {
      if (one.untilMs > nowMs) return;
      inFlight.delete(one);
    }
  };
  const freePlaces = (): number => {
    forgetSlow();
    return roomAt(recordMs) - recording - inFlight.size;
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

  /** One timer for all callers: room also comes when slow servers no longer count. */
  const tick = async (): Promise<void> => {
    isTicking = true;
    for (let ticks = 1; waiting.size > 0; ticks += 1) {
      await system.sleep(IN_FLIGHT_MS_MAX);
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
      const one = { untilMs: monotonicMs() + IN_FLIGHT_MS_MAX };
      inFlight.add(one);
      return () => void inFlight.delete(one);
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
