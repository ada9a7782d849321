import { jitter } from '../../lib/async/async.ts';
import type { BounceCategory } from '../bounce/categories.ts';
import { GMAIL, YAHOO } from '../bounce/reply-words.ts';
import type { HoldReason } from './events.ts';
import type { ExistingMessage } from './message.ts';

/** The schedule: waits after the first, second, … attempt. The last one repeats until the time to live ends. */
const WAIT_MINUTES = [1, 5, 15, 30, 60, 120, 240, 480, 720] as const;
const LAST_WAIT_MINUTES = 720;

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const MINUTE_SECONDS = 60;

/** Default time to live (72 h), after which undelivered recipients expire. */
export const TTL_SECONDS_DEFAULT = 259_200;

/** Waits after replies of a category, instead of the schedule. */
export interface ReplyWaits {
  readonly category: BounceCategory;
  /** Waits after the first, second, … attempt. The schedule continues after the last one. */
  readonly minutes: readonly number[];
  readonly reason: string;
  /** Documentation of a program or provider, or an RFC clause. */
  readonly source: string;
}

/** All other categories use the schedule, because their cause may be gone within a minute. */
export const REPLY_WAITS: readonly ReplyWaits[] = [
  {
    category: 'greylisted',
    minutes: [6, 12, 15, 30, 60, 60],
    reason:
      'Most servers make strangers wait 5 min, some 1, 10, 25 or 30, a few 60: each try comes soon after one of these. A try that comes too early is only counted.',
    source:
      'postgrey(8) --delay 300 s; milter-greylist 30 min; OpenBSD spamd(8) 25 min; greylistd and ISMail 60 min; cPanel 10 of at most 240 min',
  },
  {
    category: 'rate_limited',
    minutes: [5, 15, 30, 60, 60],
    reason:
      'Limits are counted by the minute, the hour or the day. A minute later nothing has changed, and each early try counts against us.',
    source: `Postfix minimal_backoff_time 300 s, anvil_rate_time_unit 60 s; ${GMAIL} (4.2.1, 4.7.28)`,
  },
  {
    category: 'reputation',
    minutes: [30, 60, 120, 240, 480],
    reason: 'A reputation is computed from hours of mail: retrying does not improve it, and counts towards it.',
    source: `${YAHOO} (421); RFC 5321 §4.5.4.1: at least 30 min`,
  },
  {
    category: 'spam',
    minutes: [30, 60, 120, 240, 480],
    reason: 'A filter judges the same message the same a minute later; block lists and filters that learn take hours.',
    source: 'RFC 5321 §4.5.4.1: at least 30 min',
  },
  {
    category: 'mailbox_full',
    minutes: [60, 120, 240, 480, 720],
    reason: 'The mailbox has to be cleaned up, which takes hours or days. Many tries look like a poorly kept list.',
    source: 'Exim, retry rules for `quota`: fewer and later; RFC 5321 §4.5.4.1',
  },
];

const MINUTES: ReadonlyMap<BounceCategory, readonly number[]> = new Map(
  REPLY_WAITS.map(({ category, minutes }) => [category, minutes]),
);

/** Shortest wait that a reply can ask for. Each attempt costs both sides a session. */
const NAMED_SECONDS_MIN = 60;
/** The longest wait of the schedule. Higher: one reply could delay a message until it expires. */
const NAMED_SECONDS_MAX = 43_200;
/**
 * Number of times that a named wait is honoured. Without a limit, a server that always names a minute is tried hundreds
 * of times.
 */
const NAMED_TIMES_MAX = 6;
/**
 * Jitter of waits that a reply asks for. It only adds time, because a server counts from the last attempt to the
 * second.
 */
const LATER = 0.1;

const jitteredLater = (seconds: number, random: number): number => Math.ceil(seconds * (1 + LATER * random));

export interface RetryHints {
  readonly category?: BounceCategory | undefined;
  /** Wait named in the reply's text. */
  readonly askedSeconds?: number | undefined;
}

/**
 * The wait in seconds that a reply asks for after this attempt.
 * @param random in [0, 1).
 * @returns undefined if it asks for none, so that the schedule applies.
 */
export const replyWaitSeconds = (
  attempt: number,
  { category, askedSeconds }: RetryHints,
  random: number,
): number | undefined => {
  if (askedSeconds !== undefined && attempt <= NAMED_TIMES_MAX) {
    return jitteredLater(Math.min(Math.max(askedSeconds, NAMED_SECONDS_MIN), NAMED_SECONDS_MAX), random);
  }
  const minutes = category === undefined ? undefined : MINUTES.get(category)?.[attempt - 1];
  return minutes === undefined ? undefined : jitteredLater(minutes * MINUTE_SECONDS, random);
};

/**
 * Time of the next attempt (ISO 8601). Never later than `expiresAt`, so that the next check finds the time to live
 * ended.
 * @param at `now` and `expiresAt` (ISO 8601), and `random` in [0, 1), which jitters the schedule's wait by ±10 %.
 * @param waitSeconds used unchanged, instead of the schedule's wait.
 */
export const nextAttemptAt = (
  attempt: number,
  { now, random, expiresAt }: { readonly now: string; readonly random: number; readonly expiresAt: string },
  waitSeconds?: number,
): string => {
  const minutes = WAIT_MINUTES[attempt - 1] ?? LAST_WAIT_MINUTES;
  const waitMs = waitSeconds === undefined ? jitter(minutes * MINUTE_MS, random) : waitSeconds * SECOND_MS;
  return new Date(Math.min(Date.parse(now) + waitMs, Date.parse(expiresAt))).toISOString();
};

type Expiring = Pick<ExistingMessage, 'timeToLiveMs' | 'expiresAt' | 'recipients'>;

export interface Wait {
  readonly reason: HoldReason;
  readonly seconds: number;
  /** ISO 8601. */
  readonly now: string;
}

/** Time until which the time to live is already suspended, because other recipients wait for the same reason. */
const suspendedUntilMs = ({ recipients }: Expiring, reason: HoldReason): number =>
  Math.max(0, ...recipients.map(({ held }) => (held?.reason === reason ? Date.parse(held.until) : 0)));

/**
 * Expiry of a message (ISO 8601) whose time to live is suspended during this wait. If several recipients wait at the
 * same time, the wait counts once. A time to live below the default is not extended: it means that the mail is
 * worthless later.
 */
export const extendedExpiry = (state: Expiring, { reason, seconds, now }: Wait): string => {
  if (state.timeToLiveMs < TTL_SECONDS_DEFAULT * SECOND_MS) return state.expiresAt;
  const nowMs = Date.parse(now);
  const addedMs = nowMs + seconds * SECOND_MS - Math.max(nowMs, suspendedUntilMs(state, reason));
  return new Date(Date.parse(state.expiresAt) + Math.max(0, addedMs)).toISOString();
};
