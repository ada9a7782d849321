import type { OutboxEvent } from './api/schemas.ts';
import { fromBase64 } from './base64.ts';
import { OutboxError } from './errors.ts';

/** Signatures of webhooks (Standard Webhooks 1.0.0): HMAC-SHA256 over `id.timestamp.body`. */

/** The post is not from the service, or is too old. `message` says which. */
export class WebhookVerificationError extends OutboxError {
  override name = 'WebhookVerificationError';
}

export interface ReceivedWebhook {
  /** The raw body as received, not parsed. */
  readonly body: string | Uint8Array | ArrayBuffer;
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** `whsec_…`; during a rotation, both secrets. */
  readonly secret: string | readonly string[];
  /** Allowed difference between the post's time and now, in seconds. Default 300. */
  readonly toleranceSeconds?: number;
}

const TOLERANCE_SECONDS = 300;
/** The service signs with two secrets at most. */
const SIGNATURES_MAX = 10;
const HMAC = { name: 'HMAC', hash: 'SHA-256' };

/** Recognizes `Headers` of any fetch implementation. */
const isHeaders = (headers: ReceivedWebhook['headers']): headers is Headers => typeof headers.get === 'function';

const headerIn = (headers: ReceivedWebhook['headers'], name: string): string => {
  const value = isHeaders(headers) ? headers.get(name) : fieldIn(headers, name);
  if (value === null) throw new WebhookVerificationError(`the header ${name} is missing`);
  return value;
};

const fieldIn = (headers: Exclude<ReceivedWebhook['headers'], Headers>, name: string): string | null => {
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return typeof value === 'string' ? value : (value?.[0] ?? null);
};

const keyOf = (secret: string) => {
  const bytes = fromBase64(secret.replace(/^whsec_/, ''));
  if (bytes === null || bytes.length === 0) throw new TypeError('secret must be whsec_ followed by Base64');
  return crypto.subtle.importKey('raw', bytes, HMAC, false, ['verify']);
};

const signaturesIn = (header: string): readonly Uint8Array<ArrayBuffer>[] =>
  header
    .split(' ', SIGNATURES_MAX)
    .filter((one) => one.startsWith('v1,'))
    .map((one) => fromBase64(one.slice(3)))
    .filter((one) => one !== null);

const requireRaw = (body: unknown): void => {
  if (typeof body === 'string' || body instanceof Uint8Array || body instanceof ArrayBuffer) return;
  throw new TypeError('body must be the raw text or bytes as received, not a parsed object');
};

const signedBytes = (id: string, timestamp: string, body: ReceivedWebhook['body']): Uint8Array<ArrayBuffer> => {
  const encoder = new TextEncoder();
  const start = encoder.encode(`${id}.${timestamp}.`);
  const rest = typeof body === 'string' ? encoder.encode(body) : new Uint8Array(body);
  const bytes = new Uint8Array(start.length + rest.length);
  bytes.set(start);
  bytes.set(rest, start.length);
  return bytes;
};

const requireTime = (timestamp: string, tolerance: number): void => {
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a time');
  const ahead = Number(timestamp) - Date.now() / 1000;
  if (Math.abs(ahead) <= tolerance) return;
  throw new WebhookVerificationError(
    ahead < 0
      ? 'webhook-timestamp is too old: the post is a replay, or the local clock is fast'
      : 'webhook-timestamp is in the future: the local clock is slow',
  );
};

/**
 * Verifies a post and reads its event.
 * @throws {WebhookVerificationError} if the signature is not valid: answer 400.
 * @throws {TypeError} if the secret is malformed, or the body has been parsed already.
 */
export const verifyWebhook = async (received: ReceivedWebhook): Promise<OutboxEvent> => {
  const { body, headers, secret, toleranceSeconds = TOLERANCE_SECONDS } = received;
  requireRaw(body);
  const id = headerIn(headers, 'webhook-id');
  const timestamp = headerIn(headers, 'webhook-timestamp');
  const signatures = signaturesIn(headerIn(headers, 'webhook-signature'));
  requireTime(timestamp, toleranceSeconds);
  const signed = signedBytes(id, timestamp, body);
  const keys = await Promise.all((typeof secret === 'string' ? [secret] : secret).map(keyOf));
  const verdicts = await Promise.all(
    keys.flatMap((key) => signatures.map((signature) => crypto.subtle.verify(HMAC, key, signature, signed))),
  );
  if (!verdicts.includes(true)) {
    throw new WebhookVerificationError('no signature matches: verify the raw body, with the secret of this webhook');
  }
  return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as OutboxEvent;
};
