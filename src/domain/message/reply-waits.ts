import type { BounceCategory } from '../bounce/categories.ts';
import { GMAIL, YAHOO } from '../bounce/reply-words.ts';

/** How long to wait after a reply that means something, in place of the schedule for those that do not say. */
export interface ReplyWaits {
  readonly category: BounceCategory;
  /** After the first, second, … attempt; the schedule goes on where they end. */
  readonly minutes: readonly number[];
  readonly reason: string;
  /** Who says so: documentation of a program or a provider, or a clause. */
  readonly source: string;
}

/** Any other category keeps the schedule: what it is about may be over within a minute. */
export const REPLY_WAITS: readonly ReplyWaits[] = [
  {
    category: 'greylisted',
    minutes: [6, 12, 15, 30, 60, 60],
    reason:
      'Strangers wait 5 min at most servers, 1, 10, 25 or 30 at others, 60 at a few: each is met soon after it has passed, and what comes too early is only counted.',
    source:
      'postgrey(8) --delay 300 s; milter-greylist 30 min; OpenBSD spamd(8) 25 min; greylistd and ISMail 60 min; cPanel 10 of at most 240 min',
  },
  {
    category: 'rate_limited',
    minutes: [5, 15, 30, 60, 60],
    reason:
      'Limits are counted by the minute, the hour or the day: a minute later it is the same, and each early try counts against us.',
    source: `Postfix minimal_backoff_time 300 s, anvil_rate_time_unit 60 s; ${GMAIL} (4.2.1, 4.7.28)`,
  },
  {
    category: 'reputation',
    minutes: [30, 60, 120, 240, 480],
    reason: 'An opinion of us is made of hours of mail: it does not change by asking, and asking is part of it.',
    source: `${YAHOO} (421); RFC 5321 §4.5.4.1: at least 30 min`,
  },
  {
    category: 'spam',
    minutes: [30, 60, 120, 240, 480],
    reason: 'The same message looks the same a minute later; lists and filters that learn take hours.',
    source: 'RFC 5321 §4.5.4.1: at least 30 min',
  },
  {
    category: 'mailbox_full',
    minutes: [60, 120, 240, 480, 720],
    reason: 'Somebody has to make room: that takes hours or days, and many tries are what a provider calls a bad list.',
    source: 'Exim, retry rules for `quota`: fewer and later; RFC 5321 §4.5.4.1',
  },
];

const MINUTES: ReadonlyMap<BounceCategory, readonly number[]> = new Map(
  REPLY_WAITS.map(({ category, minutes }) => [category, minutes]),
);

const MINUTE_SECONDS = 60;
/** A server that names less is not asked more often than others: each try costs both sides a session. */
const ASKED_SECONDS_MIN = 60;
/** As long as the longest wait of the schedule. More lets one reply put a message off until it expires; less is not believed in. */
const ASKED_SECONDS_MAX = 43_200;
/** Wishes that are followed to the letter; one that is repeated for ever would have us ask hundreds of times. */
const ASKED_TIMES_MAX = 6;
/** Later only, never earlier: who counts from our last try counts to the second. Spreads what was put off together. */
const JITTER = 0.1;

const spread = (seconds: number, chance: number): number => Math.ceil(seconds * (1 + JITTER * chance));

export interface SaidOfRetrying {
  readonly category?: BounceCategory | undefined;
  /** A wait that the text of the reply names. */
  readonly askedSeconds?: number | undefined;
}

/**
 * What a reply makes of the wait after this attempt, in seconds.
 * @param chance in [0, 1).
 * @returns undefined: nothing; the schedule's stands.
 */
export const replyWaitSeconds = (
  attempt: number,
  { category, askedSeconds }: SaidOfRetrying,
  chance: number,
): number | undefined => {
  if (askedSeconds !== undefined && attempt <= ASKED_TIMES_MAX) {
    return spread(Math.min(Math.max(askedSeconds, ASKED_SECONDS_MIN), ASKED_SECONDS_MAX), chance);
  }
  const minutes = category === undefined ? undefined : MINUTES.get(category)?.[attempt - 1];
  return minutes === undefined ? undefined : spread(minutes * MINUTE_SECONDS, chance);
};
