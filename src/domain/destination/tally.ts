/** Attempts that were begun for a destination lately, in the same memory however many. Times in ms that never run backwards. */
export interface Tally {
  /** When this minute of it began, and when the last attempt did. */
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly count: number;
  /** Of the minute before; null: there was none in it, and this is how a flow began. */
  readonly before: number | null;
}

/** What servers count by, unless they are told otherwise (Postfix, anvil_rate_time_unit). */
const MINUTE_MS = 60_000;
/**
 * What came within less is taken for what would have come in so long. Shorter makes a flood of a few messages, and lets
 * who counts by the minute refuse some more; longer makes a trickle of a flood, and who counts by the second gets little.
 */
const BURST_MS = 10_000;

const begin = (nowMs: number): Tally => ({ sinceMs: nowMs, lastMs: nowMs, count: 0, before: null });

const turned = (tally: Tally, nowMs: number): Tally => {
  const ageMs = nowMs - tally.sinceMs;
  if (ageMs < MINUTE_MS) return tally;
  if (ageMs >= 2 * MINUTE_MS) return begin(nowMs);
  return { ...tally, sinceMs: tally.sinceMs + MINUTE_MS, count: 0, before: tally.count };
};

/** One more. @param tally absent: the first. */
export const tallied = (tally: Tally | undefined, nowMs: number): Tally => {
  const { sinceMs, count, before } = tally === undefined ? begin(nowMs) : turned(tally, nowMs);
  return { sinceMs, before, lastMs: nowMs, count: count + 1 };
};

/** How many a minute, when the last began: an answer may take longer than the flow that it is about. */
export const perMinuteOf = ({ sinceMs, lastMs, count, before }: Tally): number => {
  const ageMs = lastMs - sinceMs;
  if (before === null) return (count * MINUTE_MS) / Math.max(ageMs, BURST_MS);
  return before * (1 - ageMs / MINUTE_MS) + count;
};
