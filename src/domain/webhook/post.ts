import { createHmac } from 'node:crypto';
import { jitter } from '../kernel/jitter.ts';

/** Posting an event to an endpoint: headers, signatures, and the waits between tries. */

const SECOND_MS = 1000;
const PREFIX = /^whsec_/;

/** Headers of every post, in addition to the signed ones. */
export const POST_HEADERS = { 'content-type': 'application/json', 'user-agent': 'Outbox-Webhooks/1.0' } as const;

/** Contains the replay to which a post belongs. */
export const REPLAY_HEADER = 'webhook-replay';

export const webhookTimestamp = (at: Date): string => String(Math.floor(at.getTime() / SECOND_MS));

export interface SignedWebhook {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * Signs a webhook post with the headers of Standard Webhooks 1.0.0: HMAC-SHA256 over `id.timestamp.body`, keyed with
 * the decoded bytes of the secret's Base64, not with its text.
 * @param secrets `whsec_<base64>`, with one signature for each, so that a receiver may know the old or the new one.
 */
export const signWebhook = (
  secrets: readonly string[],
  { id, at, body }: { readonly id: string; readonly at: Date; readonly body: string },
): SignedWebhook => {
  const timestamp = webhookTimestamp(at);
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(PREFIX, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
};

const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Waits after the first, second, … try. After the last try, the delivery has failed. */
const WAITS_MS = [
  5 * SECOND_MS,
  ...[1, 5, 30].map((minutes) => minutes * MINUTE_MS),
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
/** A receiver may ask for a longer wait, but not for one so long that its events are forgotten. */
const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;

/**
 * Milliseconds to wait after this try of a webhook; null if there is no further try.
 * @param attempt 1 for the first.
 * @param random in [0, 1): spreads the wait by ±10 %.
 * @param retryAfterSeconds wait requested by the receiver, used if it is longer.
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
