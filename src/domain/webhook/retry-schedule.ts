import { jitter } from '../jitter.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Waits after the first, second, … try; after the last the delivery has failed. */
const WAITS_MS = [
  5 * SECOND_MS,
  ...[1, 5, 30].map((minutes) => minutes * MINUTE_MS),
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
/** A receiver may ask for a longer wait, but not for so long that its events are forgotten. */
const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;

/**
 * Milliseconds to wait after this try of a webhook; null: there is no further one.
 * @param attempt 1 for the first.
 * @param random in [0, 1): spreads the wait by ±10 %.
 * @param retryAfterSeconds what the receiver asked for, honoured where it is longer.
 */
export const webhookRetryWaitMs = (
  attempt: number,
  random: number,
  retryAfterSeconds: number | null,
): number | null => {
  const wait = WAITS_MS[attempt - 1];
  if (wait === undefined) return null;
  const asked = Math.min((retryAfterSeconds ?? 0) * SECOND_MS, RETRY_AFTER_MS_MAX);
  return Math.max(jitter(wait, random), asked);
};
