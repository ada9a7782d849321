import { neighbourhoodOf } from '../../domain/address-ranges.ts';
import type { System } from '../../domain/ports/system.ts';

/**
 * Limits how often unknown keys from one address may cause a catch-up of the key cache. Over the limit no request is
 * refused: the unknown key waits for the next regular read of the log instead.
 */
export interface CatchUpLimit {
  /** Counts one catch-up. @returns whether it is within the limit. */
  take(address: string): boolean;
}

/** Higher: key guessing loads the log. Lower: more clients behind one address wait 250 ms for a new key. */
const CATCH_UPS_MAX = 20;
const WINDOW_MS = 60_000;
/** About 1 MB. A flood from more addresses evicts the oldest. */
const ADDRESSES_MAX = 10_000;

interface Window {
  readonly endsMs: number;
  count: number;
}

export const createCatchUpLimit = (system: Pick<System, 'monotonicMs'>): CatchUpLimit => {
  const windows = new Map<string, Window>();

  const windowOf = (neighbourhood: string): Window => {
    const nowMs = system.monotonicMs();
    const known = windows.get(neighbourhood);
    if (known !== undefined && known.endsMs > nowMs) return known;
    windows.delete(neighbourhood);
    const oldest = windows.size >= ADDRESSES_MAX ? windows.keys().next().value : undefined;
    if (oldest !== undefined) windows.delete(oldest);
    const opened = { endsMs: nowMs + WINDOW_MS, count: 0 };
    windows.set(neighbourhood, opened);
    return opened;
  };

  return {
    take: (address) => {
      const window = windowOf(neighbourhoodOf(address));
      window.count += 1;
      return window.count <= CATCH_UPS_MAX;
    },
  };
};
