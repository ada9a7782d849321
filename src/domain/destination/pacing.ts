import type { BounceCategory } from '../bounce/categories.ts';
import type { AttemptOutcome } from '../message/attempt.ts';
import type { SmtpFacts } from '../message/events.ts';
import { isSuspended, nextSuspension, type Suspension } from './suspension.ts';

/** Effect of an attempt's outcomes on the destination as a whole, whatever happened to the recipients. */
export type Feedback = 'flowing' | 'slow' | 'busy' | 'refusing' | 'unreachable';

/**
 * RFC 3463 §3.3: status of one mailbox, such as Gmail's 4.2.1 "receiving mail too quickly". §3.6, X.5.3: too many
 * recipients in one transaction.
 */
const OF_ONE = /^[245]\.(?:2\.\d{1,3}|5\.3)$/;
/** RFC 5321 §4.5.3.1.10: this code without an enhanced code, in reply to RCPT. */
const TOO_MANY_RECIPIENTS = 452;

/**
 * Whether the reply concerns one mailbox or one transaction. It then says nothing about the load of the destination.
 */
const isOfOne = ({ code, enhanced, stage }: Pick<SmtpFacts, 'code' | 'enhanced' | 'stage'>): boolean =>
  enhanced === null ? code === TOO_MANY_RECIPIENTS && stage === 'recipient' : OF_ONE.test(enhanced);

/** RFC 5321 §3.8 and §4.2.2: the server closes the session, or the service for now. */
const CLOSING = 421;
/** Categories that concern the server or this service, not the recipient or the message. */
const BUSY: ReadonlySet<BounceCategory> = new Set(['rate_limited', 'reputation']);
/** Categories that concern the sender's address or the message even at MAIL, or a delay that every new sender gets. */
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
/** RFC 3463 §3.4, X.3.1 and X.3.2: the mail system is full, or is not accepting messages. */
const SYSTEM_AT_ALL = /^4\.3\.[12]$/;
/** A permanent rejection does not ask this service to slow down, even if the attempt is retried. */
const PERMANENT = 500;
/** RFC 5321 §4.2.3: insufficient system storage. */
const NO_STORAGE = 452;

type Deferral = Extract<AttemptOutcome, { outcome: 'deferred' }>;

const wasSetUp = ({ smtp: { stage } }: Deferral): boolean => stage !== 'connect' && stage !== 'session';

/**
 * In reply to RCPT, "451 local error" usually means an unreadable table or mailbox of this recipient (Postfix, Exim).
 */
const isSystemBusy = ({ smtp: { code, enhanced, stage } }: Deferral): boolean =>
  code < PERMANENT && (stage !== 'recipient' || code === NO_STORAGE || SYSTEM_AT_ALL.test(enhanced ?? ''));

const asksForFewer = (said: Deferral): boolean => {
  const { smtp, category } = said;
  if (smtp.code === CLOSING) return true;
  if (category === 'system') return isSystemBusy(said);
  const isForNow = smtp.code < PERMANENT;
  if (category === undefined || isOfOne(smtp)) return smtp.stage === 'mail' && isForNow;
  return BUSY.has(category) || (smtp.stage === 'mail' && isForNow && !NOT_OF_LOAD.has(category));
};

/**
 * A 5xx greeting, or a permanent rejection of a session command, means that the server accepts no mail from this
 * service.
 */
const feedbackOfSetUp = ({ smtp: { code } }: Deferral): Feedback => (code < PERMANENT ? 'busy' : 'refusing');

const feedbackOfDeferred = (said: Deferral): Feedback | null => {
  if (said.smtp.code > 0 && !wasSetUp(said)) return feedbackOfSetUp(said);
  if (asksForFewer(said)) return 'busy';
  if (said.smtp.code > 0) return 'flowing';
  // Without a category, this service itself ended the attempt.
  return wasSetUp(said) || said.category === undefined ? null : 'unreachable';
};

const feedbackOfOne = (said: AttemptOutcome): Feedback | null => {
  if (said.outcome === 'delivered' || said.outcome === 'bounced') return 'flowing';
  return said.outcome === 'deferred' ? feedbackOfDeferred(said) : null;
};

const asksToSlow = (said: Deferral): boolean => {
  const feedback = feedbackOfDeferred(said);
  return feedback === 'busy' || feedback === 'refusing' || feedback === 'unreachable';
};

/** Replies slower than this do not raise the limit: more attempts would slow down the server further. */
const SLOW_MS = 2_000;

/** @returns null if the outcomes say nothing about the destination, such as a deadline of this service. */
export const feedbackOf = (outcomes: readonly AttemptOutcome[], tookMs: number): Feedback | null => {
  const all = outcomes.map(feedbackOfOne);
  if (all.includes('busy')) return 'busy';
  if (all.includes('refusing')) return 'refusing';
  if (all.includes('flowing')) return tookMs > SLOW_MS ? 'slow' : 'flowing';
  return all.includes('unreachable') ? 'unreachable' : null;
};

/**
 * Whether a request to slow down may concern the sender: it came after MAIL named the sending domain. A reply to a
 * connection, a greeting or a session command can only concern this service or the server itself.
 */
export const mayBlameSender = (outcomes: readonly AttemptOutcome[]): boolean =>
  outcomes.every((said) => said.outcome !== 'deferred' || !asksToSlow(said) || wasSetUp(said));

/**
 * Whether a reply says that too many messages arrived in a period. Other requests to slow down change only the
 * concurrency: a server that is out of order (`system`) or distrusts this service (`reputation`) does not count
 * messages, and does not accept more if they come slowly; greylisting delays every new sender.
 */
export const asksForLowerRate = (outcomes: readonly AttemptOutcome[]): boolean =>
  outcomes.some(
    (said) =>
      (said.outcome === 'deferred' || said.outcome === 'bounced') &&
      said.category === 'rate_limited' &&
      !isOfOne(said.smtp),
  );

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

interface ConcurrencyBounds {
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
const halve = (state: ConcurrencyLimit, nowMs: number): ConcurrencyLimit => ({
  ...state,
  limit: Math.max(1, state.limit / 2),
  isSlowStart: false,
  reducedAtMs: nowMs,
});

const suspend = (state: ConcurrencyLimit, { now, nowMs, random }: AfterAttempt): ConcurrencyLimit => ({
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
      if (state.limit < 2) return suspend(state, after);
      return halve(state, nowMs);
    case 'refusing':
    case 'unreachable':
      return suspend(state, after);
    default:
      return feedback satisfies never;
  }
};

/** Reduces concurrency without a suspension, because only one sender was asked to slow down. */
export const slowDown = (state: ConcurrencyLimit, after: AfterAttempt): ConcurrencyLimit =>
  isSuspended(state, after.now) || isCounted(state, after) ? state : halve(state, after.nowMs);

/**
 * Rate limit of a destination, in attempts a minute. It starts with the first reply that asks for a lower rate. All
 * times are in ms of the monotonic clock.
 */
export interface RateLimit {
  readonly perMinute: number;
  /** Time of the destination's last request for a lower rate. */
  readonly askedMs: number;
  readonly changedMs: number;
  /** Earliest start of the next attempt. */
  readonly nextMs: number;
}

/** The period by which servers count by default (Postfix, anvil_rate_time_unit). */
const MINUTE_MS = 60_000;

/**
 * Lower: overlaps with suspensions (`suspension.ts`), of which the shortest is a minute. Higher: exceeds what providers
 * allow slowed senders (PowerMTA's configurations for them: `backoff-max-msg-rate 1/m`).
 */
const PER_MINUTE_MIN = 1;
/**
 * Time to double the rate while replies are good: from the minimum to one a second in an hour, as long as slowed
 * senders stay slow elsewhere (PowerMTA's `backoff-to-normal-after`). Lower: hits the provider's limit again and again,
 * which delays messages by minutes each time. Higher: delays mail long after that limit is gone. It is a factor,
 * because the limit may be ten or ten thousand.
 */
const DOUBLED_AFTER_MS = 600_000;
/** Longest time since the last change that a raise takes into account: without attempts, nothing was proved. */
const STEP_MS_MAX = MINUTE_MS;
/**
 * Limits by the minute and by the hour have been reset by then. Lower: a sender that sends hourly is rejected hourly.
 */
const REMEMBERED_MS = 3_600_000;
/**
 * A limit this many times the rate in use delays nothing and is removed. Lower: it is exceeded by the next campaign.
 */
const WELL_ABOVE = 4;
/**
 * Unused time that can be made up for. Timers are some ms late, and above 50 attempts a second each tick starts
 * several. Higher: a queue that was empty starts with a burst.
 */
const MADE_UP_MS = 1_000;

interface AskedForFewer {
  /** Attempts in the preceding minute (`perMinuteOf`). */
  readonly perMinute: number;
  /** Start of the attempt that got the reply. */
  readonly beganMs: number;
  readonly nowMs: number;
}

const intervalMs = (perMinute: number): number => MINUTE_MS / perMinute;

/** Halves the observed rate, once for all attempts in flight at that time. @param limit absent if there was none. */
export const reduceRate = (limit: RateLimit | undefined, asked: AskedForFewer): RateLimit => {
  const { beganMs, nowMs } = asked;
  if (limit !== undefined && beganMs < limit.askedMs) return limit;
  const before = limit === undefined ? asked.perMinute : Math.min(limit.perMinute, asked.perMinute);
  const perMinute = Math.max(PER_MINUTE_MIN, before / 2);
  return { perMinute, askedMs: nowMs, changedMs: nowMs, nextMs: nowMs + intervalMs(perMinute) };
};

/**
 * Raises the limit after a good reply.
 * @param usedPerMinute attempts in the preceding minute.
 * @returns undefined if the limit ends.
 */
export const raiseRate = (
  limit: RateLimit,
  { usedPerMinute, nowMs }: { readonly usedPerMinute: number; readonly nowMs: number },
): RateLimit | undefined => {
  const sinceMs = Math.min(nowMs - limit.changedMs, STEP_MS_MAX);
  const perMinute = limit.perMinute * 2 ** (sinceMs / DOUBLED_AFTER_MS);
  const isOver = nowMs - limit.askedMs > REMEMBERED_MS && perMinute > WELL_ABOVE * usedPerMinute;
  return isOver ? undefined : { ...limit, perMinute, changedMs: nowMs };
};

/**
 * Records the start of an attempt. Generic cell rate algorithm: the time of the next attempt is the only state.
 * @returns undefined if the limit ends, because it has not been used for `REMEMBERED_MS`.
 */
export const consumeRate = (limit: RateLimit, nowMs: number): RateLimit | undefined =>
  nowMs - limit.nextMs > REMEMBERED_MS
    ? undefined
    : { ...limit, nextMs: Math.max(limit.nextMs, nowMs - MADE_UP_MS) + intervalMs(limit.perMinute) };

/**
 * Maximum number of waiting attempts: those that start within a minute. Higher: messages expire in the queue unnoticed.
 */
export const waitingMax = ({ perMinute }: RateLimit): number => Math.floor(perMinute);

/** Recent attempts to a destination: a sliding counter per minute, of constant size. */
export interface AttemptCount {
  /** Start of the current minute, and start of the last attempt. */
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly count: number;
  /** Attempts in the preceding minute; null if the flow of attempts began in this one. */
  readonly before: number | null;
}

/**
 * Attempts within a shorter time are treated as spread over this time. Lower: a few messages look like a flood, and a
 * server that counts by the minute rejects some more. Higher: a flood looks like a trickle, and the rate is reduced too
 * far for a server that counts by the second.
 */
const BURST_MS = 10_000;

const begin = (nowMs: number): AttemptCount => ({ sinceMs: nowMs, lastMs: nowMs, count: 0, before: null });

const slide = (attempts: AttemptCount, nowMs: number): AttemptCount => {
  const ageMs = nowMs - attempts.sinceMs;
  if (ageMs < MINUTE_MS) return attempts;
  if (ageMs >= 2 * MINUTE_MS) return begin(nowMs);
  return { ...attempts, sinceMs: attempts.sinceMs + MINUTE_MS, count: 0, before: attempts.count };
};

/** Counts an attempt. @param attempts absent for the first one. */
export const countAttempt = (attempts: AttemptCount | undefined, nowMs: number): AttemptCount => {
  const { sinceMs, count, before } = attempts === undefined ? begin(nowMs) : slide(attempts, nowMs);
  return { sinceMs, before, lastMs: nowMs, count: count + 1 };
};

/**
 * Attempts a minute at the time of the last attempt, because its reply may take longer than the flow of attempts lasts.
 */
export const perMinuteOf = ({ sinceMs, lastMs, count, before }: AttemptCount): number => {
  const ageMs = lastMs - sinceMs;
  if (before === null) return (count * MINUTE_MS) / Math.max(ageMs, BURST_MS);
  return before * (1 - ageMs / MINUTE_MS) + count;
};
