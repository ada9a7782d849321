import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../ids.ts';

/**
 * Tokens of tracked links and pixels. A token names an organization, a message, a recipient and a link, and proves by an
 * HMAC that this service made it for exactly that address: a redirect looks nothing up and cannot lead elsewhere.
 *
 * Layout: key id (2 bytes), message (16), recipient (16), link (2), number of links (2), organization (16), HMAC (18); as
 * base64url. Tokens of earlier versions name no organization, have an HMAC of 16 bytes, and are accepted.
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
const ORGANIZATION_AT = LINK_AT + 4;

type Purpose = 'click' | 'open';

interface Layout {
  readonly macAt: number;
  readonly purposes: Readonly<Record<Purpose, string>>;
}

/** Its purposes differ from those of the earlier layout: no HMAC of one proves the other. */
const LAYOUT: Layout = {
  macAt: ORGANIZATION_AT + ID_BYTES,
  purposes: { click: 'click of an organization', open: 'open of an organization' },
};
const EARLIER_LAYOUT: Layout = { macAt: ORGANIZATION_AT, purposes: { click: 'click', open: 'open' } };

/** 144 bits cannot be guessed. 72 bytes in all leave no unused bits: each token has one spelling. */
const MAC_BYTES = 18;
const SHAPE = /^[\w-]{96}$/;
/** 54 bytes, with an HMAC of 128 bits. */
const EARLIER_SHAPE = /^[\w-]{72}$/;
/** Links of one message that can be told apart. */
export const TRACKED_LINKS_MAX = 1000;

/** One link of a recipient's copy. */
export interface TrackedLink {
  readonly messageId: string;
  readonly recipientId: string;
  readonly organizationId: string;
  /** Place among the message's tracked links, from 0. */
  readonly link: number;
  /** How many tracked links the message has. */
  readonly links: number;
}

/** The recipient of a message, for whom openings and clicks are recorded. */
export type TrackedRecipient = Pick<TrackedLink, 'messageId' | 'recipientId'>;

/** A recipient's copy of a message. */
export type TrackedCopy = Pick<TrackedLink, 'messageId' | 'recipientId' | 'organizationId'>;

export interface Owner {
  /** null: the token is of an earlier version, which does not say. */
  readonly organizationId: string | null;
}

const macOf = ({ bytes }: TrackingKey, purpose: string, head: Uint8Array, url: string): Buffer =>
  keyedBytes(bytes, purpose, `${Buffer.from(head).toString('latin1')}\0${url}`);

const tokenOf = (
  [key]: TrackingKeys,
  purpose: Purpose,
  { messageId, recipientId, organizationId, link, links }: TrackedLink,
  url: string,
): string => {
  const { macAt, purposes } = LAYOUT;
  const token = Buffer.alloc(macAt + MAC_BYTES);
  token.set(key.id, 0);
  token.set(bytesOfId(messageId), TRACKING_KEY_ID_BYTES);
  token.set(bytesOfId(recipientId), TRACKING_KEY_ID_BYTES + ID_BYTES);
  token.writeUInt16BE(link, LINK_AT);
  token.writeUInt16BE(links, LINK_AT + 2);
  token.set(bytesOfId(organizationId), ORGANIZATION_AT);
  token.set(macOf(key, purposes[purpose], token.subarray(0, macAt), url).subarray(0, MAC_BYTES), macAt);
  return token.toString('base64url');
};

const layoutOf = (text: string): Layout | null => {
  if (SHAPE.test(text)) return LAYOUT;
  return EARLIER_SHAPE.test(text) ? EARLIER_LAYOUT : null;
};

const readToken = (
  keys: TrackingKeys,
  purpose: Purpose,
  text: string,
  url: string,
): (Omit<TrackedLink, 'organizationId'> & Owner) | null => {
  const layout = layoutOf(text);
  if (layout === null) return null;
  const { macAt, purposes } = layout;
  const bytes = Buffer.from(text, 'base64url');
  const head = bytes.subarray(0, macAt);
  const mac = bytes.subarray(macAt);
  const isOurs = keys.some(
    (key) =>
      head.subarray(0, TRACKING_KEY_ID_BYTES).equals(key.id) &&
      timingSafeEqual(macOf(key, purposes[purpose], head, url).subarray(0, mac.length), mac),
  );
  if (!isOurs) return null;
  return {
    messageId: formatId('msg', bytes.subarray(TRACKING_KEY_ID_BYTES)),
    recipientId: formatId('rcp', bytes.subarray(TRACKING_KEY_ID_BYTES + ID_BYTES)),
    organizationId: layout === LAYOUT ? formatId('org', bytes.subarray(ORGANIZATION_AT)) : null,
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
export const readClick = (
  keys: TrackingKeys,
  token: string,
  url: string,
): (Omit<TrackedLink, 'organizationId'> & Owner) | null => readToken(keys, 'click', token, url);

/** Address of the image whose loading tells that a copy was opened. @param baseUrl without a slash at its end. */
export const openUrl = (keys: TrackingKeys, baseUrl: string, copy: TrackedCopy): string =>
  `${baseUrl}/o/${tokenOf(keys, 'open', { ...copy, link: 0, links: 0 }, '')}`;

/** null: the token was not made by this service. */
export const readOpen = (keys: TrackingKeys, token: string): (TrackedRecipient & Owner) | null =>
  readToken(keys, 'open', token, '');
