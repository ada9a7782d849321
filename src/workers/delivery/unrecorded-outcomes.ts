import { pause } from '../../async/with-timeout.ts';
import type { System } from '../../domain/ports/system.ts';

/** Limits the outcomes that mail servers have given and the log has not taken yet. */
export interface UnrecordedOutcomes {
  /** Counts while `record` runs. */
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
/** Weight of the newest in the moving average of the time that recording takes. More reacts to a single slow commit. */
const NEWEST = 0.1;
/** A caller that nobody lets go on looks again: the one before it may have ended with nothing to record. */
const LOOK_AGAIN_MS = 250;

const roomAt = (recordMs: number): number =>
  Math.max(UNRECORDED_MAX_OF_SLOW, Math.min(UNRECORDED_MAX, Math.floor((UNRECORDED_MAX * QUICK_MS) / recordMs)));

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

  /** @returns whether the caller's turn came. */
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
