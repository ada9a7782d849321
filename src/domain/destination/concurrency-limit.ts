import { jitter } from '../jitter.ts';
import type { Feedback } from './feedback.ts';

/**
 * How many attempts run for one destination at the same time. Additive increase, multiplicative decrease, as TCP reacts to
 * losses (RFC 5681 §3.1): a little more after each success, half of it after a request to slow down, and a pause, longer
 * each time, if the destination does not answer.
 */
export interface ConcurrencyLimit {
  /** Attempts at the same time; fractions add up. */
  readonly limit: number;
  /** Never reduced so far: the limit grows by one with each success. */
  readonly isSlowStart: boolean;
  /** Pauses in a row. */
  readonly pauses: number;
  /** Nothing is sent until then (ISO 8601); null: not paused. */
  readonly pausedUntil: string | null;
  /** When the limit was last reduced, by the monotonic clock. */
  readonly reducedAtMs: number;
}

export interface ConcurrencyBounds {
  /** Higher looks like an attack to a small server, lower waits for round trips. */
  readonly start: number;
  readonly max: number;
}

/** RFC 5321 §4.5.4.1 asks for restraint; mailbox providers publish limits of 10 to 20 sessions. */
export const CONCURRENCY_BOUNDS: ConcurrencyBounds = { start: 2, max: 20 };

const PAUSE_MINUTES = [1, 2, 5, 15, 30] as const;
const LAST_PAUSE_MINUTES = 30;
const MINUTE_MS = 60_000;

export const initialConcurrency = ({ start }: ConcurrencyBounds): ConcurrencyLimit => ({
  limit: start,
  isSlowStart: true,
  pauses: 0,
  pausedUntil: null,
  reducedAtMs: Number.NEGATIVE_INFINITY,
});

export interface AfterAttempt {
  readonly feedback: Feedback;
  /** ISO 8601. */
  readonly now: string;
  /** When the attempt began, and `now`, by the monotonic clock. */
  readonly beganMs: number;
  readonly nowMs: number;
  /** In [0, 1). */
  readonly random: number;
  readonly bounds: ConcurrencyBounds;
}

const paused = (state: ConcurrencyLimit, { now, nowMs, random }: AfterAttempt): ConcurrencyLimit => {
  const minutes = PAUSE_MINUTES[state.pauses] ?? LAST_PAUSE_MINUTES;
  const ms = jitter(minutes * MINUTE_MS, random);
  return {
    limit: 1,
    isSlowStart: false,
    pauses: state.pauses + 1,
    reducedAtMs: nowMs,
    pausedUntil: new Date(Date.parse(now) + ms).toISOString(),
  };
};

export const isPaused = ({ pausedUntil }: ConcurrencyLimit, now: string): boolean =>
  pausedUntil !== null && pausedUntil > now;

/** The attempt was in flight when the limit was reduced (RFC 6582 §3.2: losses of one flight count once). */
const isCounted = ({ reducedAtMs }: ConcurrencyLimit, { feedback, beganMs }: AfterAttempt): boolean =>
  beganMs < reducedAtMs && (feedback === 'busy' || feedback === 'refusing' || feedback === 'unreachable');

/** Attempts in flight when a pause begins change nothing: their failures count once, and their successes do not end it. */
export const adjustConcurrency = (state: ConcurrencyLimit, after: AfterAttempt): ConcurrencyLimit => {
  const { feedback, now, nowMs, bounds } = after;
  if (isPaused(state, now) || isCounted(state, after)) return state;
  switch (feedback) {
    case 'flowing': {
      const growth = state.isSlowStart ? 1 : 1 / state.limit;
      return { ...state, limit: Math.min(bounds.max, state.limit + growth), pauses: 0, pausedUntil: null };
    }
    case 'slow':
      return { ...state, pauses: 0, pausedUntil: null };
    case 'busy':
      if (state.limit < 2) return paused(state, after);
      return { ...state, limit: Math.max(1, state.limit / 2), isSlowStart: false, reducedAtMs: nowMs };
    case 'refusing':
    case 'unreachable':
      return paused(state, after);
    default:
      return feedback satisfies never;
  }
};
