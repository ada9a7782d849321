import type { Feedback } from './feedback.ts';
import { isSuspended, nextSuspension, type Suspension } from './suspension.ts';

/**
 * How many attempts run for one destination at the same time. Additive increase, multiplicative decrease, as TCP reacts to
 * losses (RFC 5681 §3.1): a little more after each success, half of it after a request to slow down, and a
 * suspension, longer each time, if the destination does not answer.
 */
export interface ConcurrencyLimit {
  /** Attempts at the same time; fractions add up. */
  readonly limit: number;
  /** Never reduced so far: the limit grows by one with each success. */
  readonly isSlowStart: boolean;
  /** The last one, with how many there were in a row; null: none since the last success. */
  readonly suspension: Pick<Suspension, 'times' | 'until'> | null;
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
  /** When the attempt began, and `now`, by the monotonic clock. */
  readonly beganMs: number;
  readonly nowMs: number;
  /** In [0, 1). */
  readonly random: number;
  readonly bounds: ConcurrencyBounds;
}

/** Half of it, but not less than one attempt at a time. */
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

/** The attempt was in flight when the limit was reduced (RFC 6582 §3.2: losses of one flight count once). */
const isCounted = ({ reducedAtMs }: ConcurrencyLimit, { feedback, beganMs }: AfterAttempt): boolean =>
  beganMs < reducedAtMs && (feedback === 'busy' || feedback === 'refusing' || feedback === 'unreachable');

/** Attempts in flight when a suspension begins change nothing: their failures count once, and their successes do not end it. */
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

/** A request to slow down that only one sender has met: there are fewer attempts, and no suspension. */
export const slowDown = (state: ConcurrencyLimit, after: AfterAttempt): ConcurrencyLimit =>
  isSuspended(state, after.now) || isCounted(state, after) ? state : halved(state, after.nowMs);
