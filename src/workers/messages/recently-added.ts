import type { System } from '../../domain/system.ts';
import { type Due, keyOf } from './delivery-job.ts';

/** What this process has put into the queue a moment ago: it is not lost, only not yet done. */
export interface RecentlyAdded {
  add(due: readonly Due[]): void;
  /** Added less than `RECENT_MS` ago, and not before it became due (ISO 8601): a retry is another matter. */
  has(due: Due, dueAt: string): boolean;
}

/**
 * How long a message that is due but not taken is believed to be in the queue. Shorter adds it twice when workers are
 * busy, which costs a read; longer waits longer after a queue was wiped.
 */
const RECENT_MS = 4000;
/** About 20 MB of ids. What is forgotten early is at worst added twice. */
const IDS_MAX = 100_000;

export const createRecentlyAdded = ({ monotonicMs, now }: Pick<System, 'monotonicMs' | 'now'>): RecentlyAdded => {
  /** In the order in which they were added. */
  const added = new Map<string, { readonly ms: number; readonly at: string }>();

  const forget = (): void => {
    const before = monotonicMs() - RECENT_MS;
    for (const [id, { ms }] of added) {
      if (ms > before && added.size <= IDS_MAX) return;
      added.delete(id);
    }
  };

  return {
    add: (due) => {
      const adding = { ms: monotonicMs(), at: now().toISOString() };
      for (const id of due.map(keyOf)) {
        added.delete(id); // moves it to the end
        added.set(id, adding);
      }
      forget();
    },
    has: (due, dueAt) => {
      const last = added.get(keyOf(due));
      return last !== undefined && last.ms > monotonicMs() - RECENT_MS && last.at >= dueAt;
    },
  };
};
