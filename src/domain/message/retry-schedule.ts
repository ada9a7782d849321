import { jitter } from '../jitter.ts';

/**
 * Waits after the first, second, … attempt, where the reply means nothing else (`reply-waits.ts`); the last one repeats
 * until the time to live ends.
 */
const WAIT_MINUTES = [1, 5, 15, 30, 60, 120, 240, 480, 720] as const;
const LAST_WAIT_MINUTES = 720;
const SECOND_MS = 1000;
const MINUTE_MS = 60_000;

/** Default time to live (72 h): when undelivered recipients expire. */
export const TTL_SECONDS_DEFAULT = 259_200;

/**
 * When to try again after this attempt (ISO 8601): never later than `expiresAt`, so that whoever looks then finds that
 * the time to live has ended.
 * @param at now and `expiresAt` (ISO 8601), and chance in [0, 1), which spreads the schedule's wait by ±10 %.
 * @param waitSeconds a wait in its place, taken as it is.
 */
export const nextAttemptAt = (
  attempt: number,
  { now, chance, expiresAt }: { readonly now: string; readonly chance: number; readonly expiresAt: string },
  waitSeconds?: number,
): string => {
  const minutes = WAIT_MINUTES[attempt - 1] ?? LAST_WAIT_MINUTES;
  const scheduledMs = jitter(minutes * MINUTE_MS, chance);
  const dueMs = Date.parse(now) + (waitSeconds === undefined ? scheduledMs : waitSeconds * SECOND_MS);
  return new Date(Math.min(dueMs, Date.parse(expiresAt))).toISOString();
};
