import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../kernel/digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../kernel/ids.ts';

/**
 * `bounce`: a report on a message. `unsubscribe`: a mailto unsubscription. `envelope`: an envelope id (RFC 3461 §4.4),
 * which only servers see, so that it proves that a reporter has handled the message.
 */
export type ReturnPurpose = 'bounce' | 'unsubscribe' | 'envelope';

/** Claim made by an address. It is unproved until the MAC is checked with the organization's secret. */
export interface ReturnToken {
  readonly purpose: ReturnPurpose;
  readonly messageId: string;
  /** Index among the message's recipients; null for all of them. */
  readonly recipientIndex: number | null;
  /** True if the recipient shared one copy with the others of its domain. */
  readonly sharesDomain?: boolean;
  readonly mac: Buffer;
}

/** Length of the HMAC: 104 bits cannot be guessed by mail, and the total is a whole number of characters. */
const RETURN_MAC_BYTES = 13;
const TOKEN_BYTES = ID_BYTES + 1 + RETURN_MAC_BYTES;
/** Five bits each. With the leading letter, they leave 15 octets of a local part (RFC 5321 §4.5.3.1.1). */
const CHARACTERS = (TOKEN_BYTES * 8) / 5;
const ALL_RECIPIENTS = 255;
/** Flag stored with the index. A message has up to 50 recipients; the flag leaves room for 127. */
const SHARES_DOMAIN = 128;
const LETTERS: Readonly<Record<ReturnPurpose, string>> = { bounce: 'b', unsubscribe: 'u', envelope: 'e' };
const PURPOSES = new Map(Object.entries(LETTERS).map(([purpose, letter]) => [letter, purpose as ReturnPurpose]));
/** Alphabet of RFC 4648 §7. Case-insensitive, because relays may change the case. */
const RETURN_PATH = /^[bue][0-9a-v]{48}$/;

type ReturnSubject = Pick<ReturnToken, 'purpose' | 'messageId' | 'recipientIndex' | 'sharesDomain'>;

const indexByteOf = ({ recipientIndex, sharesDomain }: ReturnSubject): number => {
  if (recipientIndex === null) return ALL_RECIPIENTS;
  return sharesDomain === true ? recipientIndex + SHARES_DOMAIN : recipientIndex;
};

const subjectOf = (named: ReturnSubject): Buffer =>
  Buffer.concat([bytesOfId(named.messageId), Buffer.of(indexByteOf(named))]);

const returnMac = (secret: Uint8Array, named: ReturnSubject): Buffer =>
  keyedBytes(secret, `return path: ${named.purpose}`, subjectOf(named).toString('hex')).subarray(0, RETURN_MAC_BYTES);

const base32 = (bytes: Buffer): string =>
  BigInt(`0x${bytes.toString('hex')}`)
    .toString(32)
    .padStart(CHARACTERS, '0');

const bytesOf = (text: string): Buffer => {
  const number = [...text].reduce((sum, digit) => sum * 32n + BigInt(Number.parseInt(digit, 32)), 0n);
  return Buffer.from(number.toString(16).padStart(TOKEN_BYTES * 2, '0'), 'hex');
};

/** Local part of the address to which a message is returned. Verifying it needs no table. */
export const returnPath = (secret: Uint8Array, named: ReturnSubject): string => {
  const { recipientIndex } = named;
  const fits = recipientIndex === null || recipientIndex < SHARES_DOMAIN - 1;
  const known = fits ? named : { ...named, recipientIndex: null };
  return LETTERS[named.purpose] + base32(Buffer.concat([subjectOf(known), returnMac(secret, known)]));
};

/** Parses such a local part; null if the text cannot be one. */
export const readReturnPath = (localPart: string): ReturnToken | null => {
  const text = localPart.toLowerCase();
  if (!RETURN_PATH.test(text)) return null;
  const bytes = bytesOf(text.slice(1));
  const place = bytes.readUInt8(ID_BYTES);
  return {
    purpose: PURPOSES.get(text.charAt(0)) ?? 'bounce',
    messageId: formatId('msg', bytes.subarray(0, ID_BYTES)),
    recipientIndex: place === ALL_RECIPIENTS ? null : place % SHARES_DOMAIN,
    ...(place >= SHARES_DOMAIN && place < ALL_RECIPIENTS ? { sharesDomain: true } : {}),
    mac: bytes.subarray(ID_BYTES + 1),
  };
};

/** Indexes of the recipients to which a token refers. */
export const indexesOf = (
  { recipientIndex, sharesDomain }: Pick<ReturnToken, 'recipientIndex' | 'sharesDomain'>,
  recipients: readonly { readonly domain: string }[],
): readonly number[] => {
  const domain = recipients[recipientIndex ?? -1]?.domain;
  return [...recipients.keys()].filter(
    (place) =>
      recipientIndex === null ||
      (sharesDomain === true ? recipients[place]?.domain === domain : place === recipientIndex),
  );
};

/** Whether the token was made with this secret. Takes constant time. */
export const isReturnPath = (secret: Uint8Array, token: ReturnToken): boolean =>
  timingSafeEqual(returnMac(secret, token), token.mac);

/**
 * Links of a recipient. The last path segment is a token that names message and recipient, with an HMAC bound to the
 * link's purpose.
 */

/** Length of the HMAC: 128 bits cannot be guessed, and links stay short. */
const LINK_MAC_BYTES = 16;
/** Message, recipient and HMAC as base64url. 48 bytes leave no unused bits, so each token has one spelling. */
const LINK_TOKEN = /^[\w-]{64}$/;

/** Purpose of a link. A token for one purpose is not valid for the other. */
export type LinkPurpose = 'unsubscribe' | 'view';

/** Claim made by a link. It is unproved until the MAC is checked with the organization's secret. */
interface LinkToken {
  readonly messageId: string;
  readonly recipientId: string;
  readonly mac: Buffer;
}

const linkMac = (secret: Uint8Array, purpose: LinkPurpose, messageId: string, recipientId: string): Buffer =>
  keyedBytes(secret, purpose, `${messageId}\0${recipientId}`).subarray(0, LINK_MAC_BYTES);

const tokenFor =
  (purpose: LinkPurpose) =>
  (secret: Uint8Array, messageId: string, recipientId: string): string =>
    Buffer.concat([
      bytesOfId(messageId),
      bytesOfId(recipientId),
      linkMac(secret, purpose, messageId, recipientId),
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
  if (!LINK_TOKEN.test(text)) return null;
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
): boolean => timingSafeEqual(linkMac(secret, purpose, messageId, recipientId), mac);

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
