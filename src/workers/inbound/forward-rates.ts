import { LRUCache } from 'lru-cache';
import type { System } from '../../lib/async/async.ts';

/**
 * Mails forwarded within an hour, by route and by organization. A flood that arrives for one address must not leave from
 * here. The counts are in memory: after a restart they begin again.
 */

/** More: a flood costs the reputation of the service. Fewer: busy addresses stop being forwarded. */
export const FORWARDS_PER_HOUR = { route: 300, organization: 1_000 } as const;
const HOUR_MS = 3_600_000;
/** An evicted count begins again. */
const COUNTS_MAX = 10_000;

interface Count {
  readonly sinceMs: number;
  readonly forwards: number;
}

export interface ForwardRates {
  /** Counts a mail. @returns false: a limit is reached, and the mail must not be forwarded. */
  take(mail: { readonly routeId: string | null; readonly organizationId: string }): boolean;
}

export const createForwardRates = ({ monotonicMs }: Pick<System, 'monotonicMs'>): ForwardRates => {
  const counts = new LRUCache<string, Count>({ max: COUNTS_MAX });

  const countOf = (key: string): Count => {
    const nowMs = monotonicMs();
    const known = counts.get(key);
    return known === undefined || nowMs - known.sinceMs >= HOUR_MS ? { sinceMs: nowMs, forwards: 0 } : known;
  };

  return {
    take: ({ routeId, organizationId }) => {
      const limits = [
        [routeId ?? '', FORWARDS_PER_HOUR.route],
        [organizationId, FORWARDS_PER_HOUR.organization],
      ] as const;
      if (limits.some(([key, max]) => countOf(key).forwards >= max)) return false;
      for (const [key] of limits) {
        const { sinceMs, forwards } = countOf(key);
        counts.set(key, { sinceMs, forwards: forwards + 1 });
      }
      return true;
    },
  };
};
