import { timingSafeEqual } from 'node:crypto';
import { withHostName } from '../../domain/kernel/addresses.ts';
import { keyedBytes } from '../../domain/kernel/digest.ts';
import type { OidcTransaction } from '../../domain/ports/identity-provider.ts';
import type { TrackingKeys } from '../../domain/tracking/tracking-token.ts';
import type { System } from '../../lib/async/async.ts';

/**
 * A sign-in at the identity provider, from the button to the way back. A cookie of the browser holds when it ends, random
 * bytes, and a MAC over both; state, nonce and code verifier follow from it and from a key of the service. Nothing is stored,
 * so that no number of requests fills anything, and no other browser can end what this one began.
 */

/** Time to sign in with a second factor. Longer: a stolen response stays usable for longer. */
export const TRANSACTION_SECONDS = 600;

const EXPIRY_BYTES = 6;
const RANDOM_BYTES = 32;
const MAC_AT = EXPIRY_BYTES + RANDOM_BYTES;
const COOKIE = /^[\w-]{94}$/;

type Key = TrackingKeys[number];

const derive = ({ bytes }: Key, purpose: string, head: Buffer): Buffer =>
  keyedBytes(bytes, `oidc ${purpose}`, head.toString('base64url'));

const transactionOf = (key: Key, head: Buffer): OidcTransaction => ({
  state: derive(key, 'state', head).toString('base64url'),
  nonce: derive(key, 'nonce', head).toString('base64url'),
  codeVerifier: derive(key, 'code verifier', head).toString('base64url'),
});

/** @returns the value of the cookie, and what follows from it. */
export const makeTransaction = (
  [key]: TrackingKeys,
  system: Pick<System, 'now' | 'randomBytes'>,
): { readonly cookie: string; readonly transaction: OidcTransaction } => {
  const head = Buffer.alloc(MAC_AT);
  head.writeUIntBE(system.now().getTime() + TRANSACTION_SECONDS * 1000, 0, EXPIRY_BYTES);
  head.set(system.randomBytes(RANDOM_BYTES), EXPIRY_BYTES);
  const cookie = Buffer.concat([head, derive(key, 'transaction', head)]).toString('base64url');
  return { cookie, transaction: transactionOf(key, head) };
};

/** @returns null: this service did not make the cookie, or it has ended. */
export const readTransaction = (keys: TrackingKeys, cookie: string, now: Date): OidcTransaction | null => {
  if (!COOKIE.test(cookie)) return null;
  const bytes = Buffer.from(cookie, 'base64url');
  const [head, mac] = [bytes.subarray(0, MAC_AT), bytes.subarray(MAC_AT)];
  const key = keys.find((one) => timingSafeEqual(mac, derive(one, 'transaction', head)));
  return key === undefined || head.readUIntBE(0, EXPIRY_BYTES) <= now.getTime() ? null : transactionOf(key, head);
};

/** Whether two texts are the same, in a time that tells nothing of where they differ. */
export const isSameText = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/**
 * Redirect URI: a screen of the dashboard, which posts the provider's response.
 * @param port port of the request. It replaces port 0 in the public URL, with which the system chose a port.
 */
export const redirectUriOf = (publicUrl: string, port: number | undefined): URL => {
  const url = withHostName(new URL(`${publicUrl}/dashboard/sign-in/oidc`));
  if (url.port === '0' && port !== undefined) url.port = String(port);
  return url;
};
