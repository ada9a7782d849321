import type { BounceCategory } from '../bounce/categories.ts';
import { jitter } from '../jitter.ts';
import type { AttemptOutcome } from '../message/record-attempt.ts';
import { isOfOne } from './is-of-one.ts';

/**
 * How many attempts a destination gets at the same time, and when none at all. It follows its answers as TCP follows
 * losses (RFC 5681 §3.1): a little more for each that goes well, half of it where it asks for less, and a pause, longer
 * each time, where it does not answer.
 */
export interface Pace {
  /** At the same time; with a fraction, which collects. */
  readonly limit: number;
  /** It has never asked for less: the limit grows by one for each attempt that goes well. */
  readonly isUntried: boolean;
  /** Pauses in a row. */
  readonly pauses: number;
  /** Until then it gets nothing (ISO 8601); null: it may. */
  readonly pausedUntil: string | null;
  /** When it last got less, in ms that never run backwards. */
  readonly lessSinceMs: number;
}

/** How an attempt went for the destination as a whole, whatever came of its recipients. */
export type Bearing = 'flowing' | 'slow' | 'busy' | 'refusing' | 'unreachable';

export interface PaceLimits {
  /** More is taken for an attack by a small server, fewer waits for round trips. */
  readonly start: number;
  readonly max: number;
}

/** RFC 5321 §4.5.4.1 asks for restraint; providers of mailboxes publish 10 to 20 sessions. */
export const DESTINATION_LIMITS: PaceLimits = { start: 2, max: 20 };

const PAUSE_MINUTES = [1, 2, 5, 15, 30] as const;
const LAST_PAUSE_MINUTES = 30;
const MINUTE_MS = 60_000;

export const unhurried = ({ start }: PaceLimits): Pace => ({
  limit: start,
  isUntried: true,
  pauses: 0,
  pausedUntil: null,
  lessSinceMs: Number.NEGATIVE_INFINITY,
});

/** RFC 5321 §3.8 and §4.2.2: the server closes, for this session or for now. */
const CLOSING = 421;
/** About the server or about us, not about the one recipient or message that it was said of. */
const BUSY: ReadonlySet<BounceCategory> = new Set(['rate_limited', 'reputation']);
/** At MAIL too: about the sender's address or the message, or a wait that every stranger has. */
const NOT_OF_LOAD: ReadonlySet<BounceCategory> = new Set([
  'greylisted',
  'sender_rejected',
  'authentication',
  'relay_denied',
  'spam',
  'content_rejected',
  'too_large',
  'policy',
]);
/** RFC 3463 §3.4, X.3.1 and X.3.2: the mail system is full, or takes nothing now. */
const SYSTEM_AT_ALL = /^4\.3\.[12]$/;
/** Whoever refuses for good does not ask for less, whatever this service makes of it. */
const PERMANENT = 500;
/** RFC 5321 §4.2.3: insufficient system storage. */
const NO_STORAGE = 452;

type Deferred = Extract<AttemptOutcome, { outcome: 'deferred' }>;

const wasSetUp = ({ smtp: { stage } }: Deferred): boolean => stage !== 'connect' && stage !== 'session';

/** To RCPT "451 local error" mostly is a table or a mailbox that cannot be read: that of this recipient (Postfix, Exim). */
const isSystemBusy = ({ smtp: { code, enhanced, stage } }: Deferred): boolean =>
  code < PERMANENT && (stage !== 'recipient' || code === NO_STORAGE || SYSTEM_AT_ALL.test(enhanced ?? ''));

const asksForLess = (said: Deferred): boolean => {
  const { smtp, category } = said;
  if (smtp.code === CLOSING) return true;
  if (category === 'system') return isSystemBusy(said);
  const isForNow = smtp.code < PERMANENT;
  if (category === undefined || isOfOne(smtp)) return smtp.stage === 'mail' && isForNow;
  return BUSY.has(category) || (smtp.stage === 'mail' && isForNow && !NOT_OF_LOAD.has(category));
};

/** A greeting with 5xx or a command that is refused for good asks for no mail at all, and a slower one will not change it. */
const bearingOfSetUp = ({ smtp: { code } }: Deferred): Bearing => (code < PERMANENT ? 'busy' : 'refusing');

const bearingOfDeferred = (said: Deferred): Bearing | null => {
  if (said.smtp.code > 0 && !wasSetUp(said)) return bearingOfSetUp(said);
  if (asksForLess(said)) return 'busy';
  if (said.smtp.code > 0) return 'flowing';
  // Without a category we ended it ourselves.
  return wasSetUp(said) || said.category === undefined ? null : 'unreachable';
};

const bearingOfOne = (said: AttemptOutcome): Bearing | null => {
  if (said.outcome === 'delivered' || said.outcome === 'bounced') return 'flowing';
  return said.outcome === 'deferred' ? bearingOfDeferred(said) : null;
};

/** Where answers took longer than this the limit does not grow: a slow server does not become quicker by more of them. */
const SLOW_MS = 2_000;

/** @returns null: it tells nothing of the destination, such as a deadline of ours. */
export const bearingOf = (outcomes: readonly AttemptOutcome[], tookMs: number): Bearing | null => {
  const bearings = outcomes.map(bearingOfOne);
  if (bearings.includes('busy')) return 'busy';
  if (bearings.includes('refusing')) return 'refusing';
  if (bearings.includes('flowing')) return tookMs > SLOW_MS ? 'slow' : 'flowing';
  return bearings.includes('unreachable') ? 'unreachable' : null;
};

export interface AfterAttempt {
  readonly bearing: Bearing;
  /** ISO 8601. */
  readonly now: string;
  /** When the attempt began, and the same time as `now`, in ms that never run backwards. */
  readonly beganMs: number;
  readonly nowMs: number;
  /** In [0, 1). */
  readonly random: number;
  readonly limits: PaceLimits;
}

const paused = (pace: Pace, { now, nowMs, random }: AfterAttempt): Pace => {
  const minutes = PAUSE_MINUTES[pace.pauses] ?? LAST_PAUSE_MINUTES;
  const ms = jitter(minutes * MINUTE_MS, random);
  return {
    limit: 1,
    isUntried: false,
    pauses: pace.pauses + 1,
    lessSinceMs: nowMs,
    pausedUntil: new Date(Date.parse(now) + ms).toISOString(),
  };
};

export const isPaused = ({ pausedUntil }: Pace, now: string): boolean => pausedUntil !== null && pausedUntil > now;

/** It was in hand when the destination got less (RFC 6582 §3.2: losses of one flight are one). */
const isToldAlready = ({ lessSinceMs }: Pace, { bearing, beganMs }: AfterAttempt): boolean =>
  beganMs < lessSinceMs && (bearing === 'busy' || bearing === 'refusing' || bearing === 'unreachable');

/** What is in hand when a pause begins was sent before it: its failures are one, and its successes end nothing. */
export const paceAfter = (pace: Pace, after: AfterAttempt): Pace => {
  const { bearing, now, nowMs, limits } = after;
  if (isPaused(pace, now) || isToldAlready(pace, after)) return pace;
  switch (bearing) {
    case 'flowing': {
      const growth = pace.isUntried ? 1 : 1 / pace.limit;
      return { ...pace, limit: Math.min(limits.max, pace.limit + growth), pauses: 0, pausedUntil: null };
    }
    case 'slow':
      return { ...pace, pauses: 0, pausedUntil: null };
    case 'busy':
      if (pace.limit < 2) return paused(pace, after);
      return { ...pace, limit: Math.max(1, pace.limit / 2), isUntried: false, lessSinceMs: nowMs };
    case 'refusing':
    case 'unreachable':
      return paused(pace, after);
    default:
      return bearing satisfies never;
  }
};
