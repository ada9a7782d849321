import { createECDH, createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { CustomerEventType } from '../customer-events/customer-event-types.ts';

/**
 * Webhooks in the format of SendGrid's Event Webhook. A post is an array with one event, signed by ECDSA over
 * `timestamp + body`. The signing key is derived from the secret of the webhook, so that a rotation replaces both.
 */

/** Our events that have an event of SendGrid. */
export const SENDGRID_EVENTS = [
  'message.accepted',
  'message.delivered',
  'message.deferred',
  'message.bounced',
  'message.failed',
  'message.suppressed',
  'message.expired',
  'message.opened',
  'message.clicked',
  'message.complained',
  'message.unsubscribed',
] as const satisfies readonly CustomerEventType[];

/** Order of the group of P-256 (SP 800-186 §3.2.1.3). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const SCALAR_BYTES = 32;
const PURPOSE = 'sendgrid event webhook';
const PREFIX = /^whsec_/;

const base64url = (bytes: Buffer): string => bytes.toString('base64url');

/** A key as JWK (RFC 7518 §6.2), which Node reads five times as fast as PKCS #8: each post signs. */
const privateKeyOf = (secret: string): KeyObject => {
  const material = Buffer.from(secret.replace(PREFIX, ''), 'base64');
  // Twice as long as the order, so that the remainder is as good as uniform (FIPS 186-5 §A.2.1).
  const seed = createHmac('sha512', material).update(PURPOSE).digest('hex');
  const digits = ((BigInt(`0x${seed}`) % (ORDER - 1n)) + 1n).toString(16).padStart(2 * SCALAR_BYTES, '0');
  const scalar = Buffer.from(digits, 'hex');
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(scalar);
  const point = pair.getPublicKey(); // one byte, then both coordinates (SEC 1 §2.3.3)
  const [x, y] = [point.subarray(1, 1 + SCALAR_BYTES), point.subarray(1 + SCALAR_BYTES)];
  const key = { kty: 'EC', crv: 'P-256', d: base64url(scalar), x: base64url(x), y: base64url(y) };
  return createPrivateKey({ key, format: 'jwk' });
};

/** Public key in base64, as SendGrid shows it: receivers verify signatures with it. @param secret `whsec_<base64>`. */
export const verificationKeyOf = (secret: string): string =>
  createPublicKey(privateKeyOf(secret)).export({ type: 'spki', format: 'der' }).toString('base64');

/** Headers of a post. @param timestamp of the attempt, in seconds. */
export const signSendgrid = (
  secret: string,
  { timestamp, body }: { readonly timestamp: string; readonly body: string | Uint8Array },
): Readonly<Record<string, string>> => ({
  'x-twilio-email-event-webhook-timestamp': timestamp,
  'x-twilio-email-event-webhook-signature': sign(
    'sha256',
    Buffer.concat([Buffer.from(timestamp), typeof body === 'string' ? Buffer.from(body) : body]),
    privateKeyOf(secret),
  ).toString('base64'),
});
