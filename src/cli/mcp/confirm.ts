import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '../../lib/transparency/transparency.ts';

/**
 * Confirmation tokens for mail. A token is an HMAC, under a key of this process, over the exact content, the caller and
 * the expiry. Nothing has to be stored, changed content needs another token, and a token expires after some minutes.
 */

const KEY_BYTES = 32;
const NONCE_BYTES = 9;
/** Longer: a leaked token stays usable. Shorter: too little time to read a mail. */
export const CONFIRM_MINUTES = 10;
const MINUTE_MS = 60_000;
const TOKEN = /^(?<until>\d{1,15})\.(?<nonce>[\w-]{12})\.(?<mac>[\w-]{43})$/;

export interface Confirmation {
  /** Depends only on the token, so that using it twice sends once. */
  readonly idempotencyKey: string;
}

export const createConfirmations = (now: () => number = Date.now) => {
  const key = randomBytes(KEY_BYTES);
  const macOf = (content: object, by: string, until: string, nonce: string): Buffer =>
    createHmac('sha256', key).update(canonicalJson({ content, by, until, nonce })).digest();

  return {
    /** @param by the caller. Tokens are not valid for other callers. */
    tokenFor: (content: object, by: string): string => {
      const until = String(now() + CONFIRM_MINUTES * MINUTE_MS);
      const nonce = randomBytes(NONCE_BYTES).toString('base64url');
      return `${until}.${nonce}.${macOf(content, by, until, nonce).toString('base64url')}`;
    },
    /** null if the token is for other content or another caller, or has expired. */
    check: (token: string, content: object, by: string): Confirmation | null => {
      const { until = '0', nonce = '', mac = '' } = TOKEN.exec(token)?.groups ?? {};
      if (Number(until) < now()) return null;
      const given = Buffer.from(mac, 'base64url');
      const right = macOf(content, by, until, nonce);
      const isRight = given.length === right.length && timingSafeEqual(given, right);
      return isRight ? { idempotencyKey: `mcp-${nonce}` } : null;
    },
  };
};

export type Confirmations = ReturnType<typeof createConfirmations>;
