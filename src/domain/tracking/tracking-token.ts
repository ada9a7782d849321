import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../kernel/digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../kernel/ids.ts';

/**
 * Tokens of tracked links and pixels. A token names an organization, a message, a recipient and a link. Its HMAC proves
 * that this service made it for exactly that URL: a redirect needs no lookup and cannot lead elsewhere.
 *
 * Layout: key id (2 bytes), message (16), recipient (16), link (2), number of links (2), organization (16), HMAC (18),
 * in base64url. Tokens of earlier versions have no organization and an HMAC of 16 bytes, and are still accepted.
 */

/** A key that authenticates tokens, derived from the secret key of the service. */
export interface TrackingKey {
  /** `TRACKING_KEY_ID_BYTES` bytes. */
  readonly id: Uint8Array;
  readonly bytes: Uint8Array;
}

/** The first key makes tokens; tokens of all keys are accepted. */
export type TrackingKeys = readonly [TrackingKey, ...TrackingKey[]];

export const TRACKING_KEY_ID_BYTES = 2;
const LINK_AT = TRACKING_KEY_ID_BYTES + 2 * ID_BYTES;
const ORGANIZATION_AT = LINK_AT + 4;

type Purpose = 'click' | 'open';

interface Layout {
  readonly macAt: number;
  readonly purposes: Readonly<Record<Purpose, string>>;
}

/** The purposes differ from those of the earlier layout, so that an HMAC of one layout is not valid for the other. */
const LAYOUT: Layout = {
  macAt: ORGANIZATION_AT + ID_BYTES,
  purposes: { click: 'click of an organization', open: 'open of an organization' },
};
const EARLIER_LAYOUT: Layout = { macAt: ORGANIZATION_AT, purposes: { click: 'click', open: 'open' } };

/** 144 bits cannot be guessed. The 72 bytes in total leave no unused bits, so each token has one spelling. */
const MAC_BYTES = 18;
const SHAPE = /^[\w-]{96}$/;
/** 54 bytes, with a 128-bit HMAC. */
const EARLIER_SHAPE = /^[\w-]{72}$/;
/** Maximum number of distinguishable links in a message. */
export const TRACKED_LINKS_MAX = 1000;

/** A link in a recipient's copy. */
export interface TrackedLink {
  readonly messageId: string;
  readonly recipientId: string;
  readonly organizationId: string;
  /** Index among the message's tracked links, from 0. */
  readonly link: number;
  /** Number of tracked links in the message. */
  readonly links: number;
}

/** The recipient of a message, for whom opens and clicks are recorded. */
export type TrackedRecipient = Pick<TrackedLink, 'messageId' | 'recipientId'>;

/** A recipient's copy of a message. */
export type TrackedCopy = Pick<TrackedLink, 'messageId' | 'recipientId' | 'organizationId'>;

export interface Owner {
  /** Null for a token of an earlier version, which does not contain it. */
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

/** Query value of a tracked link. Apostrophes are encoded too, so that the link can be in any quotes. */
const encoded = (url: string): string => encodeURIComponent(url).replaceAll("'", '%27');

/** @param baseUrl without a trailing slash. @param url as returned by `trackedTarget`. */
export const clickUrl = (keys: TrackingKeys, baseUrl: string, link: TrackedLink, url: string): string =>
  `${baseUrl}/c/${tokenOf(keys, 'click', link, url)}?u=${encoded(url)}`;

/** Returns null if the token was not made by this service for this URL. */
export const readClick = (
  keys: TrackingKeys,
  token: string,
  url: string,
): (Omit<TrackedLink, 'organizationId'> & Owner) | null => readToken(keys, 'click', token, url);

/** URL of the image that reports opens of a copy. @param baseUrl without a trailing slash. */
export const openUrl = (keys: TrackingKeys, baseUrl: string, copy: TrackedCopy): string =>
  `${baseUrl}/o/${tokenOf(keys, 'open', { ...copy, link: 0, links: 0 }, '')}`;

/** Returns null if the token was not made by this service. */
export const readOpen = (keys: TrackingKeys, token: string): (TrackedRecipient & Owner) | null =>
  readToken(keys, 'open', token, '');
