import { neighbourhoodOf } from '../../domain/address-ranges.ts';
import type { System } from '../../domain/ports/system.ts';

/**
 * How often unknown keys from one address make this process read the log ahead of time. Over the limit nobody is
 * refused: an unknown key then waits for the next regular read, which costs nothing.
 */
export interface CatchUpLimit {
  /** Counts one. @returns whether it is within the limit. */
  take(address: string): boolean;
}

/** Higher: guessers make the log busier. Lower: more clients of a large office wait 250 ms for a key made just now. */
const CATCH_UPS_MAX = 20;
const WINDOW_MS = 60_000;
/** Addresses remembered: about 1 MB. A flood from more of them than this forgets the oldest first. */
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
