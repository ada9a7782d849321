import { AppendOutcomeUnknown, type EventStore, WrongExpectedRevision } from '../domain/kernel/event-store.ts';
import { StoreUnavailable, type System } from '../lib/async/async.ts';

/** Durations of this process's appends in the last minute. */
export interface AppendTimes {
  readonly appends: number;
  /** Milliseconds; null: there was none. */
  readonly p50: number | null;
  readonly p99: number | null;
}

const MINUTE_MS = 60_000;
/** The newest. Under load they cover less than the minute, and `appends` is projected. Higher: memory. */
const KEPT_MAX = 2_000;

interface AppendSample {
  readonly atMs: number;
  readonly tookMs: number;
}

const percentile = (sorted: readonly number[], share: number): number | null =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;

export const APPEND_OUTCOMES = ['appended', 'conflict', 'unknown', 'unavailable', 'disk_full', 'failed'] as const;
type AppendOutcome = (typeof APPEND_OUTCOMES)[number];

/** SQLSTATE `disk_full`. */
const DISK_FULL = '53100';

/** Whether a query or an append failed because a disk has no room. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && ((error as { readonly code?: unknown }).code === DISK_FULL || isDiskFull(error.cause));

const appendFailure = (error: unknown): AppendOutcome => {
  if (error instanceof WrongExpectedRevision) return 'conflict';
  if (isDiskFull(error)) return 'disk_full';
  if (error instanceof AppendOutcomeUnknown) return 'unknown';
  return error instanceof StoreUnavailable ? 'unavailable' : 'failed';
};

export type AppendListener = (outcome: AppendOutcome, tookMs: number) => void;

/** The store with its appends measured. */
export const measureAppends = (
  store: EventStore,
  system: Pick<System, 'monotonicMs'>,
): {
  readonly store: EventStore;
  appendTimes(): AppendTimes;
  onAppend(listener: AppendListener): void;
  foundFull(): boolean;
} => {
  let listener: AppendListener = () => undefined;
  let isFull = false;
  const ring: AppendSample[] = [];
  let next = 0;

  const keep = (kept: AppendSample): void => {
    ring[next] = kept;
    next = (next + 1) % KEPT_MAX;
  };

  return {
    store: {
      ...store,
      append: async (append) => {
        const begunMs = system.monotonicMs();
        try {
          const appended = await store.append(append);
          const atMs = system.monotonicMs();
          keep({ atMs, tookMs: atMs - begunMs });
          listener('appended', atMs - begunMs);
          isFull = false;
          return appended;
        } catch (error) {
          const outcome = appendFailure(error);
          listener(outcome, system.monotonicMs() - begunMs);
          if (outcome === 'disk_full') isFull = true;
          throw error;
        }
      },
    },
    onAppend: (next) => {
      listener = next;
    },
    foundFull: () => isFull,
    appendTimes: () => {
      const nowMs = system.monotonicMs();
      const recent = ring.filter(({ atMs }) => nowMs - atMs < MINUTE_MS);
      const sorted = recent.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
      const oldestMs = Math.min(...recent.map(({ atMs }) => atMs));
      const isFull = recent.length === KEPT_MAX;
      const appends = isFull ? (recent.length * MINUTE_MS) / Math.max(1, nowMs - oldestMs) : recent.length;
      return { appends: Math.round(appends), p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
    },
  };
};
