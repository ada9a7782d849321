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

export interface AskedForFewer {
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
