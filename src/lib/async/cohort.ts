/**
 * Cohort scheduling (Larus and Parkes, "Using Cohort Scheduling to Enhance Server Performance", 2002). Work that is at
 * the same stage at the same time runs together, so that a stage's code and data are in the processor's caches for all
 * but the first member.
 * A single call that continues all members is enough: async functions then run in step, from `await` to `await`,
 * because promises continue in the order in which they were settled. Socket callbacks do not run in step: Node runs
 * each to the end of its promises before the next.
 */
export interface Cohort {
  /**
   * Calls `next` in the next turn of the event loop, or in a later one if the cohort is full. Callers must bound the
   * number of waiters.
   * @param next must not throw.
   * @param bytes of data it processes. Large work runs alone.
   */
  join(next: () => void, bytes?: number): void;
}

export interface CohortLimits {
  /** Members per turn. More hold the event loop longer, fewer raise the cost of each. Default: 64. */
  readonly membersMax?: number;
  /** Bytes per turn. A single member may exceed it. Default: 256 kB. */
  readonly bytesMax?: number;
}

const MEMBERS_MAX = 64;
const BYTES_MAX = 256_000;

interface Member {
  readonly next: () => void;
  readonly bytes: number;
}

export const createCohort = ({ membersMax = MEMBERS_MAX, bytesMax = BYTES_MAX }: CohortLimits = {}): Cohort => {
  const waiting: Member[] = [];
  let isScheduled = false;

  const schedule = (): void => {
    if (isScheduled || waiting.length === 0) return;
    isScheduled = true;
    setImmediate(run);
  };

  /** Removes the members that run together next, in order of arrival. */
  const take = (): readonly Member[] => {
    let bytes = 0;
    const end = waiting.findIndex((member, index) => {
      bytes += member.bytes;
      return index === membersMax || (index > 0 && bytes > bytesMax);
    });
    return waiting.splice(0, end < 0 ? waiting.length : end);
  };

  const run = (): void => {
    isScheduled = false;
    const members = take();
    schedule();
    for (const { next } of members) next();
  };

  return {
    join: (next, bytes = 0) => {
      waiting.push({ next, bytes });
      schedule();
    },
  };
};
