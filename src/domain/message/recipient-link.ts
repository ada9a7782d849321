import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../kernel/digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../kernel/ids.ts';

/**
 * Links of a recipient. The last path segment is a token that names message and recipient, with an HMAC bound to the
 * link's purpose.
 */

/** Length of the HMAC: 128 bits cannot be guessed, and links stay short. */
const MAC_BYTES = 16;
/** Message, recipient and HMAC as base64url. 48 bytes leave no unused bits, so each token has one spelling. */
const SHAPE = /^[\w-]{64}$/;

/** Purpose of a link. A token for one purpose is not valid for the other. */
export type LinkPurpose = 'unsubscribe' | 'view';

/** Claim made by a link. It is unproved until the MAC is checked with the organization's secret. */
export interface LinkToken {
  readonly messageId: string;
  readonly recipientId: string;
  readonly mac: Buffer;
}

const macOf = (secret: Uint8Array, purpose: LinkPurpose, messageId: string, recipientId: string): Buffer =>
  keyedBytes(secret, purpose, `${messageId}\0${recipientId}`).subarray(0, MAC_BYTES);

const tokenFor =
  (purpose: LinkPurpose) =>
  (secret: Uint8Array, messageId: string, recipientId: string): string =>
    Buffer.concat([
      bytesOfId(messageId),
      bytesOfId(recipientId),
      macOf(secret, purpose, messageId, recipientId),
    ]).toString('base64url');

/** Token for unsubscribing. It needs no table, and is valid as long as the log. */
export const unsubscribeToken = tokenFor('unsubscribe');

/** Token for viewing the recipient's copy in a browser, valid as long as its content is stored. */
export const viewToken = tokenFor('view');

/** @param publicUrl base URL of this service for recipients, without a trailing slash. */
export const unsubscribeUrl = (publicUrl: string, token: string): string => `${publicUrl}/unsubscribe/${token}`;
export const viewUrl = (publicUrl: string, token: string): string => `${publicUrl}/view/${token}`;

/** Parses a token; null if the text cannot be one. */
export const readLinkToken = (text: string): LinkToken | null => {
  if (!SHAPE.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return {
    messageId: formatId('msg', bytes.subarray(0, ID_BYTES)),
    recipientId: formatId('rcp', bytes.subarray(ID_BYTES, 2 * ID_BYTES)),
    mac: bytes.subarray(2 * ID_BYTES),
  };
};

/** Whether the token was made with this secret for this purpose. Takes constant time. */
export const isLinkToken = (
  secret: Uint8Array,
  purpose: LinkPurpose,
  { messageId, recipientId, mac }: LinkToken,
): boolean => timingSafeEqual(macOf(secret, purpose, messageId, recipientId), mac);

/**
 * Placeholder for the URL of the recipient's copy. Its spaces may be encoded or broken when text is derived from HTML.
 */
const VIEW_URL = /\{\{-?(?:\s|%20){0,10}view_url(?:\s|%20){0,10}-?\}\}/;
const EVERY_VIEW_URL = new RegExp(VIEW_URL, 'g');

/** The template variable and its rendered form: each copy gets its own URL when it is composed. */
export const VIEW_URL_VARIABLE = 'view_url';
export const VIEW_URL_PLACEHOLDER = `{{ ${VIEW_URL_VARIABLE} }}`;

export const hasViewUrl = (text: string): boolean => text.includes(VIEW_URL_VARIABLE) && VIEW_URL.test(text);

/** @param url must need no escaping in HTML or in a replacement pattern. */
export const withViewUrl = (text: string, url: string): string =>
  text.includes(VIEW_URL_VARIABLE) ? text.replace(EVERY_VIEW_URL, () => url) : text;
