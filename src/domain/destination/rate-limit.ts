/**
 * Rate limit of a destination, in attempts a minute, from the first reply that asks for fewer; until then there is none.
 * All times in ms, by the monotonic clock.
 */
export interface RateLimit {
  readonly perMinute: number;
  /** When the destination last asked for fewer. */
  readonly askedMs: number;
  readonly changedMs: number;
  /** When the next attempt may begin. */
  readonly nextMs: number;
}

/** The unit that servers count by, unless configured otherwise (Postfix, anvil_rate_time_unit). */
const MINUTE_MS = 60_000;

/**
 * Lower is the business of suspensions (`suspension.ts`), of which the shortest is a minute. Higher would exceed what
 * providers allow senders that they have slowed (PowerMTA's configurations for them: `backoff-max-msg-rate 1/m`).
 */
const PER_MINUTE_MIN = 1;
/**
 * Time to double while answers are good: from the minimum to one a second in an hour, as long as senders stay slow
 * elsewhere (PowerMTA's `backoff-to-normal-after`). Shorter hits the provider's limit again and again, which delays messages
 * by minutes each time; longer delays mail long after that limit is gone. A factor, because the limit may be ten or ten
 * thousand.
 */
const DOUBLED_AFTER_MS = 600_000;
/** A raise counts no more time than this since the last one: without attempts nothing was proved. */
const STEP_MS_MAX = MINUTE_MS;
/** Limits by the minute and by the hour are over by then. Shorter makes a sender that sends hourly refused hourly. */
const REMEMBERED_MS = 3_600_000;
/** A limit this many times what is used delays nothing and may end. A smaller factor fails at the next campaign. */
const WELL_ABOVE = 4;
/**
 * Unused time that may be made up for: timers are late by some ms, and above 50 a second each of their ticks starts several
 * attempts. More lets a queue that was empty begin with a burst.
 */
const MADE_UP_MS = 1_000;

export interface AskedForFewer {
  /** Attempts in the minute before (`perMinuteOf`). */
  readonly perMinute: number;
  /** When the attempt began that got the reply. */
  readonly beganMs: number;
  readonly nowMs: number;
}

const intervalMs = (perMinute: number): number => MINUTE_MS / perMinute;

/** Halves what was sent; once for all attempts in flight at that time. @param limit absent: there was none. */
export const reduceRate = (limit: RateLimit | undefined, asked: AskedForFewer): RateLimit => {
  const { beganMs, nowMs } = asked;
  if (limit !== undefined && beganMs < limit.askedMs) return limit;
  const before = limit === undefined ? asked.perMinute : Math.min(limit.perMinute, asked.perMinute);
  const perMinute = Math.max(PER_MINUTE_MIN, before / 2);
  return { perMinute, askedMs: nowMs, changedMs: nowMs, nextMs: nowMs + intervalMs(perMinute) };
};

/** After a good answer. @param usedPerMinute attempts in the minute before. @returns undefined: the limit ends. */
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
 * An attempt begins. Generic cell rate algorithm: the time of the next attempt is all the state there is.
 * @returns undefined: it is the first for so long that the limit ends.
 */
export const consumeRate = (limit: RateLimit, nowMs: number): RateLimit | undefined =>
  nowMs - limit.nextMs > REMEMBERED_MS
    ? undefined
    : { ...limit, nextMs: Math.max(limit.nextMs, nowMs - MADE_UP_MS) + intervalMs(limit.perMinute) };

/** Attempts that may wait: those that start within a minute. More would expire in the queue unseen. */
export const waitingMax = ({ perMinute }: RateLimit): number => Math.floor(perMinute);

/** Attempts begun for a destination lately: a counter per minute that slides, of constant size. */
export interface AttemptCount {
  /** When the current minute began, and when the last attempt did. */
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly count: number;
  /** In the minute before; null: the flow of attempts began in this one. */
  readonly before: number | null;
}

/**
 * Attempts of a shorter time count as those of this time. Shorter takes a few messages for a flood, so that a server which
 * counts by the minute refuses some more; longer takes a flood for a trickle, and halves too much for one that counts by the
 * second.
 */
const BURST_MS = 10_000;

const begin = (nowMs: number): AttemptCount => ({ sinceMs: nowMs, lastMs: nowMs, count: 0, before: null });

const slide = (attempts: AttemptCount, nowMs: number): AttemptCount => {
  const ageMs = nowMs - attempts.sinceMs;
  if (ageMs < MINUTE_MS) return attempts;
  if (ageMs >= 2 * MINUTE_MS) return begin(nowMs);
  return { ...attempts, sinceMs: attempts.sinceMs + MINUTE_MS, count: 0, before: attempts.count };
};

/** Counts an attempt. @param attempts absent: it is the first. */
export const countAttempt = (attempts: AttemptCount | undefined, nowMs: number): AttemptCount => {
  const { sinceMs, count, before } = attempts === undefined ? begin(nowMs) : slide(attempts, nowMs);
  return { sinceMs, before, lastMs: nowMs, count: count + 1 };
};

/** Attempts a minute at the time of the last one: its answer may take longer than the flow of attempts. */
export const perMinuteOf = ({ sinceMs, lastMs, count, before }: AttemptCount): number => {
  const ageMs = lastMs - sinceMs;
  if (before === null) return (count * MINUTE_MS) / Math.max(ageMs, BURST_MS);
  return before * (1 - ageMs / MINUTE_MS) + count;
};
