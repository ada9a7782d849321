import type { EventStore } from '../domain/kernel/event-store.ts';
import type { System } from '../lib/async/async.ts';

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

/** The store with its appends measured. */
export const measureAppends = (
  store: EventStore,
  system: Pick<System, 'monotonicMs'>,
): { readonly store: EventStore; appendTimes(): AppendTimes } => {
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
        const appended = await store.append(append);
        const atMs = system.monotonicMs();
        keep({ atMs, tookMs: atMs - begunMs });
        return appended;
      },
    },
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
