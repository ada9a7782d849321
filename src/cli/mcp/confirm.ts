import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '../../lib/transparency/transparency.ts';

/**
 * Confirmations of what is about to be sent. A token stands for exactly one content, by whom it was asked for, for some
 * minutes: it is an HMAC under a key of this process, so nothing is stored, and another content needs another token.
 */

const KEY_BYTES = 32;
const NONCE_BYTES = 9;
/** Long enough to read a mail, too short to be found and used later. */
export const CONFIRM_MINUTES = 10;
const MINUTE_MS = 60_000;
const TOKEN = /^(?<until>\d{1,15})\.(?<nonce>[\w-]{12})\.(?<mac>[\w-]{43})$/;

export interface Confirmed {
  /** The same for each use of one token: what is sent twice under it is sent once. */
  readonly idempotencyKey: string;
}

export const createConfirmations = (now: () => number = Date.now) => {
  const key = randomBytes(KEY_BYTES);
  const macOf = (content: object, by: string, until: string, nonce: string): Buffer =>
    createHmac('sha256', key).update(canonicalJson({ content, by, until, nonce })).digest();

  return {
    /** @param by who asks: the token of one caller is none of another's. */
    tokenFor: (content: object, by: string): string => {
      const until = String(now() + CONFIRM_MINUTES * MINUTE_MS);
      const nonce = randomBytes(NONCE_BYTES).toString('base64url');
      return `${until}.${nonce}.${macOf(content, by, until, nonce).toString('base64url')}`;
    },
    /** null: the token is of another content or caller, or too old. */
    check: (token: string, content: object, by: string): Confirmed | null => {
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
