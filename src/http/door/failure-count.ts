import type { System } from '../../domain/system.ts';
import { neighbourhoodOf } from './address-ranges.ts';

/** Failures of authentication by address: whoever guesses is turned away before any look-up. */
export interface FailureCount {
  note(address: string): void;
  /** Seconds until the address may try again; 0: now. */
  blockedSeconds(address: string): number;
}

/** More lets guessers ask more, fewer locks out an office with one broken program. */
const FAILURES_MAX = 20;
const WINDOW_MS = 60_000;
/** Addresses remembered: about 1 MB. A flood from more of them than this forgets the oldest first. */
const ADDRESSES_MAX = 10_000;
const SECOND_MS = 1000;

interface Window {
  readonly endsMs: number;
  failures: number;
}

export const createFailureCount = (system: Pick<System, 'monotonicMs'>): FailureCount => {
  const windows = new Map<string, Window>();

  const open = (neighbourhood: string, nowMs: number): Window => {
    const known = windows.get(neighbourhood);
    if (known !== undefined && known.endsMs > nowMs) return known;
    windows.delete(neighbourhood);
    const oldest = windows.size >= ADDRESSES_MAX ? windows.keys().next().value : undefined;
    if (oldest !== undefined) windows.delete(oldest);
    const opened = { endsMs: nowMs + WINDOW_MS, failures: 0 };
    windows.set(neighbourhood, opened);
    return opened;
  };

  return {
    note: (address) => {
      open(neighbourhoodOf(address), system.monotonicMs()).failures += 1;
    },
    blockedSeconds: (address) => {
      if (windows.size === 0) return 0;
      const window = windows.get(neighbourhoodOf(address));
      if (window === undefined || window.failures < FAILURES_MAX) return 0;
      return Math.max(0, Math.ceil((window.endsMs - system.monotonicMs()) / SECOND_MS));
    },
  };
};
