import type { System } from '../../domain/ports/system.ts';
import { type Due, keyOf } from './delivery-job.ts';
import { putLast } from './put-last.ts';

/** What this process knows of deliveries that the timetable may not know yet. */
export interface RecentlyAdded {
  add(due: readonly Due[]): void;
  /** The log says that it is not due. @param since when this was asked, ISO 8601. */
  noteNotDue(due: Due, since: string): void;
  /**
   * Added less than `RECENT_MS` ago, or found not due less than `NOT_DUE_MS` ago, and not before it became due (ISO 8601):
   * a retry is another matter.
   */
  has(due: Due, dueAt: string): boolean;
}

/**
 * How long a message that is due but not taken is believed to be in the queue. Shorter adds it twice when workers are
 * busy, which costs a read; longer waits longer after a queue was wiped.
 */
const RECENT_MS = 4000;
/**
 * How long a row that the log contradicts is believed to be stale. Shorter reads the log again and again while read
 * models stand still; an attempt whose claim the timetable never learns of is looked at so late after its lease.
 */
const NOT_DUE_MS = 60_000;
/** About 20 MB of ids for each of both. What is forgotten early is at worst added twice. */
const IDS_MAX = 100_000;

interface Known {
  readonly ms: number;
  readonly at: string;
}

export const createRecentlyAdded = ({ monotonicMs, now }: Pick<System, 'monotonicMs' | 'now'>): RecentlyAdded => {
  /** Both in the order in which they were put in. */
  const added = new Map<string, Known>();
  const notDue = new Map<string, Known>();

  const forget = (known: Map<string, Known>, ageMs: number): void => {
    const before = monotonicMs() - ageMs;
    for (const [id, { ms }] of known) {
      if (ms > before) return;
      known.delete(id);
    }
  };

  const isIn = (known: Map<string, Known>, ageMs: number, id: string, dueAt: string): boolean => {
    const last = known.get(id);
    return last !== undefined && last.ms > monotonicMs() - ageMs && last.at >= dueAt;
  };

  return {
    add: (due) => {
      const adding = { ms: monotonicMs(), at: now().toISOString() };
      for (const one of due) putLast(added, keyOf(one), adding, IDS_MAX);
      forget(added, RECENT_MS);
    },
    noteNotDue: (due, since) => {
      putLast(notDue, keyOf(due), { ms: monotonicMs(), at: since }, IDS_MAX);
      forget(notDue, NOT_DUE_MS);
    },
    // Mail that was kept back has no due time of its own ('' here): its release makes it due, whatever was found before.
    has: (due, dueAt) =>
      isIn(added, RECENT_MS, keyOf(due), dueAt) || (dueAt !== '' && isIn(notDue, NOT_DUE_MS, keyOf(due), dueAt)),
  };
};
