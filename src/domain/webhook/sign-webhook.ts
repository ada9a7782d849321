import { createHmac } from 'node:crypto';

const SECOND_MS = 1000;
const PREFIX = /^whsec_/;

/** Headers of every post, beside the signed ones. */
export const POST_HEADERS = { 'content-type': 'application/json', 'user-agent': 'Outbox-Webhooks/1.0' } as const;

/** Names the replay that a post is part of. */
export const REPLAY_HEADER = 'webhook-replay';

export const webhookTimestamp = (at: Date): string => String(Math.floor(at.getTime() / SECOND_MS));

export interface SignedWebhook {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * Signs a webhook post: headers of Standard Webhooks 1.0.0. HMAC-SHA256 over `id.timestamp.body`, keyed with the bytes
 * that the secret's Base64 stands for, not with its text.
 * @param secrets `whsec_<base64>`; one signature for each, so that a receiver may know the old one or the new.
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
