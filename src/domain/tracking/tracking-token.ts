import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../ids.ts';

/**
 * Tokens of tracked links and pixels. A token names a message, a recipient and a link, and proves by an HMAC that this
 * service made it for exactly that address: a redirect looks nothing up and leads nowhere else.
 *
 * Layout: key id (2 bytes), message (16), recipient (16), link (2), number of links (2), HMAC (16); as base64url.
 */

/** A key that tokens are made with; derived from the secret key of the service. */
export interface TrackingKey {
  /** `TRACKING_KEY_ID_BYTES` bytes. */
  readonly id: Uint8Array;
  readonly bytes: Uint8Array;
}

/** The first makes tokens; tokens of all are accepted. */
export type TrackingKeys = readonly [TrackingKey, ...TrackingKey[]];

export const TRACKING_KEY_ID_BYTES = 2;
const LINK_AT = TRACKING_KEY_ID_BYTES + 2 * ID_BYTES;
const MAC_AT = LINK_AT + 4;
/** 128 bits cannot be guessed, and links stay short. */
const MAC_BYTES = 16;
/** 54 bytes leave no unused bits: each token has one spelling. */
const SHAPE = /^[\w-]{72}$/;
/** Links of one message that can be told apart. */
export const TRACKED_LINKS_MAX = 1000;

/** One link of a recipient's copy. */
export interface TrackedLink {
  readonly messageId: string;
  readonly recipientId: string;
  /** Place among the message's tracked links, from 0. */
  readonly link: number;
  /** How many tracked links the message has. */
  readonly links: number;
}

/** A recipient's copy of a message. */
export type TrackedCopy = Pick<TrackedLink, 'messageId' | 'recipientId'>;

const macOf = ({ bytes }: TrackingKey, purpose: 'click' | 'open', head: Uint8Array, url: string): Buffer =>
  keyedBytes(bytes, purpose, `${Buffer.from(head).toString('latin1')}\0${url}`).subarray(0, MAC_BYTES);

const tokenOf = (
  [key]: TrackingKeys,
  purpose: 'click' | 'open',
  { messageId, recipientId, link, links }: TrackedLink,
  url: string,
): string => {
  const token = Buffer.alloc(MAC_AT + MAC_BYTES);
  token.set(key.id, 0);
  token.set(bytesOfId(messageId), TRACKING_KEY_ID_BYTES);
  token.set(bytesOfId(recipientId), TRACKING_KEY_ID_BYTES + ID_BYTES);
  token.writeUInt16BE(link, LINK_AT);
  token.writeUInt16BE(links, LINK_AT + 2);
  token.set(macOf(key, purpose, token.subarray(0, MAC_AT), url), MAC_AT);
  return token.toString('base64url');
};

const readToken = (keys: TrackingKeys, purpose: 'click' | 'open', text: string, url: string): TrackedLink | null => {
  if (!SHAPE.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  const head = bytes.subarray(0, MAC_AT);
  const mac = bytes.subarray(MAC_AT);
  const isOurs = keys.some(
    (key) =>
      head.subarray(0, TRACKING_KEY_ID_BYTES).equals(key.id) && timingSafeEqual(macOf(key, purpose, head, url), mac),
  );
  if (!isOurs) return null;
  return {
    messageId: formatId('msg', bytes.subarray(TRACKING_KEY_ID_BYTES)),
    recipientId: formatId('rcp', bytes.subarray(TRACKING_KEY_ID_BYTES + ID_BYTES)),
    link: bytes.readUInt16BE(LINK_AT),
    links: bytes.readUInt16BE(LINK_AT + 2),
  };
};

/** Query of a tracked link: also the apostrophe is encoded, so that it can stand in any quotes. */
const encoded = (url: string): string => encodeURIComponent(url).replaceAll("'", '%27');

/** @param baseUrl without a slash at its end. @param url as `trackedTarget` gives it. */
export const clickUrl = (keys: TrackingKeys, baseUrl: string, link: TrackedLink, url: string): string =>
  `${baseUrl}/c/${tokenOf(keys, 'click', link, url)}?u=${encoded(url)}`;

/** null: the token was not made by this service, or not for this address. */
export const readClick = (keys: TrackingKeys, token: string, url: string): TrackedLink | null =>
  readToken(keys, 'click', token, url);

/** Address of the image whose loading tells that a copy was opened. @param baseUrl without a slash at its end. */
export const openUrl = (keys: TrackingKeys, baseUrl: string, copy: TrackedCopy): string =>
  `${baseUrl}/o/${tokenOf(keys, 'open', { ...copy, link: 0, links: 0 }, '')}`;

/** null: the token was not made by this service. */
export const readOpen = (keys: TrackingKeys, token: string): TrackedCopy | null => readToken(keys, 'open', token, '');
