import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../ids.ts';

/** Of the HMAC: 128 bits cannot be guessed, and links stay short. */
const MAC_BYTES = 16;
/** Message, recipient and HMAC as base64url. 48 bytes leave no unused bits, so each token has one spelling. */
const SHAPE = /^[\w-]{64}$/;
const PURPOSE = 'unsubscribe';

/** The claim that a link makes; unproved until the MAC is checked with the organization's secret. */
export interface UnsubscribeToken {
  readonly messageId: string;
  readonly recipientId: string;
  readonly mac: Buffer;
}

const macOf = (secret: Uint8Array, messageId: string, recipientId: string): Buffer =>
  keyedBytes(secret, PURPOSE, `${messageId}\0${recipientId}`).subarray(0, MAC_BYTES);

/** The last part of a recipient's link. Recognizing it needs no table, and it lasts as long as the log. */
export const unsubscribeToken = (secret: Uint8Array, messageId: string, recipientId: string): string =>
  Buffer.concat([bytesOfId(messageId), bytesOfId(recipientId), macOf(secret, messageId, recipientId)]).toString(
    'base64url',
  );

/** null: the text never was such a token. */
export const readUnsubscribeToken = (text: string): UnsubscribeToken | null => {
  if (!SHAPE.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return {
    messageId: formatId('msg', bytes.subarray(0, ID_BYTES)),
    recipientId: formatId('rcp', bytes.subarray(ID_BYTES, 2 * ID_BYTES)),
    mac: bytes.subarray(2 * ID_BYTES),
  };
};

/** Whether the token was made with this secret. Takes the same time for every answer. */
export const isUnsubscribeToken = (secret: Uint8Array, { messageId, recipientId, mac }: UnsubscribeToken): boolean =>
  timingSafeEqual(macOf(secret, messageId, recipientId), mac);
