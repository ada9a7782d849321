import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
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
/** PKCS #8 of a P-256 key, up to its scalar (RFC 5958, RFC 5915). The public key follows from the scalar. */
const PKCS8 = Buffer.from('3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420', 'hex');
const PURPOSE = 'sendgrid event webhook';
const PREFIX = /^whsec_/;

const privateKeyOf = (secret: string): KeyObject => {
  const material = Buffer.from(secret.replace(PREFIX, ''), 'base64');
  // Twice as long as the order, so that the remainder is as good as uniform (FIPS 186-5 §A.2.1).
  const seed = createHmac('sha512', material).update(PURPOSE).digest('hex');
  const scalar = (BigInt(`0x${seed}`) % (ORDER - 1n)) + 1n;
  const digits = scalar.toString(16).padStart(2 * SCALAR_BYTES, '0');
  return createPrivateKey({ key: Buffer.concat([PKCS8, Buffer.from(digits, 'hex')]), format: 'der', type: 'pkcs8' });
};

/** Public key in base64, as SendGrid shows it: receivers verify signatures with it. @param secret `whsec_<base64>`. */
export const verificationKeyOf = (secret: string): string =>
  createPublicKey(privateKeyOf(secret)).export({ type: 'spki', format: 'der' }).toString('base64');

/** Headers of a post. @param timestamp of the attempt, in seconds. */
export const signSendgrid = (
  secret: string,
  { timestamp, body }: { readonly timestamp: string; readonly body: string },
): Readonly<Record<string, string>> => ({
  'x-twilio-email-event-webhook-timestamp': timestamp,
  'x-twilio-email-event-webhook-signature': sign(
    'sha256',
    Buffer.from(timestamp + body),
    privateKeyOf(secret),
  ).toString('base64'),
});
