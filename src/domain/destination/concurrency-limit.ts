import type { Feedback } from './feedback.ts';
import { isSuspended, nextSuspension, type Suspension } from './suspension.ts';

/**
 * Limits the concurrent attempts to one destination. Additive increase, multiplicative decrease, like TCP's reaction to
 * losses (RFC 5681 §3.1): the limit grows a little after each success, is halved after a request to slow down, and is
 * replaced by a suspension, longer each time, if the destination does not answer.
 */
export interface ConcurrencyLimit {
  /** Maximum concurrent attempts. Fractions accumulate. */
  readonly limit: number;
  /** True until the first reduction: the limit then grows by one with each success. */
  readonly isSlowStart: boolean;
  /** The last suspension with the number in a row; null if an attempt has succeeded since. */
  readonly suspension: Pick<Suspension, 'times' | 'until'> | null;
  /** Time of the last reduction, by the monotonic clock. */
  readonly reducedAtMs: number;
}

export interface ConcurrencyBounds {
  /** Initial limit. Higher: looks like an attack to a small server. Lower: waits for round trips. */
  readonly start: number;
  readonly max: number;
}

/** RFC 5321 §4.5.4.1 asks for restraint; mailbox providers publish limits of 10 to 20 sessions. */
export const CONCURRENCY_BOUNDS: ConcurrencyBounds = { start: 2, max: 20 };

export const initialConcurrency = ({ start }: ConcurrencyBounds): ConcurrencyLimit => ({
  limit: start,
  isSlowStart: true,
  suspension: null,
  reducedAtMs: Number.NEGATIVE_INFINITY,
});

export interface AfterAttempt {
  readonly feedback: Feedback;
  /** ISO 8601. */
  readonly now: string;
  /** Start of the attempt, and `now`, both by the monotonic clock. */
  readonly beganMs: number;
  readonly nowMs: number;
  /** In [0, 1). */
  readonly random: number;
  readonly bounds: ConcurrencyBounds;
}

/** Halves the limit, to no less than one. */
const halved = (state: ConcurrencyLimit, nowMs: number): ConcurrencyLimit => ({
  ...state,
  limit: Math.max(1, state.limit / 2),
  isSlowStart: false,
  reducedAtMs: nowMs,
});

const suspended = (state: ConcurrencyLimit, { now, nowMs, random }: AfterAttempt): ConcurrencyLimit => ({
  limit: 1,
  isSlowStart: false,
  suspension: nextSuspension(state.suspension, now, random),
  reducedAtMs: nowMs,
});

/** Whether the attempt was in flight when the limit was reduced (RFC 6582 §3.2: losses of one flight count once). */
const isCounted = ({ reducedAtMs }: ConcurrencyLimit, { feedback, beganMs }: AfterAttempt): boolean =>
  beganMs < reducedAtMs && (feedback === 'busy' || feedback === 'refusing' || feedback === 'unreachable');

/**
 * Ignores attempts that were in flight when a suspension began: their failures count once, and their successes do not
 * end it.
 */
export const adjustConcurrency = (state: ConcurrencyLimit, after: AfterAttempt): ConcurrencyLimit => {
  const { feedback, now, nowMs, bounds } = after;
  if (isSuspended(state, now) || isCounted(state, after)) return state;
  switch (feedback) {
    case 'flowing': {
      const growth = state.isSlowStart ? 1 : 1 / state.limit;
      return { ...state, limit: Math.min(bounds.max, state.limit + growth), suspension: null };
    }
    case 'slow':
      return { ...state, suspension: null };
    case 'busy':
      if (state.limit < 2) return suspended(state, after);
      return halved(state, nowMs);
    case 'refusing':
    case 'unreachable':
      return suspended(state, after);
    default:
      return feedback satisfies never;
  }
};

/** Reduces concurrency without a suspension, because only one sender was asked to slow down. */
export const slowDown = (state: ConcurrencyLimit, after: AfterAttempt): ConcurrencyLimit =>
  isSuspended(state, after.now) || isCounted(state, after) ? state : halved(state, after.nowMs);
