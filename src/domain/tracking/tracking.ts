import { timingSafeEqual } from 'node:crypto';
import type { UnsubscribeWays } from '../../lib/mime/mime.ts';
import { addressClassOf, isWithin, parseRange } from '../kernel/addresses.ts';
import { keyedBytes } from '../kernel/digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../kernel/ids.ts';
import { hasViewUrl } from '../message/tokens.ts';
import type { TrackedHtml } from '../ports/mail.ts';

/** Tracking of a message: opens, and clicks on its links. */
export interface Tracking {
  readonly opens: boolean;
  readonly clicks: boolean;
}

export const NO_TRACKING: Tracking = { opens: false, clicks: false };

/** The message's settings take precedence over the domain's. */
export const trackingOf = (domain: Tracking = NO_TRACKING, message: Partial<Tracking> = {}): Tracking => ({
  opens: message.opens ?? domain.opens,
  clicks: message.clicks ?? domain.clicks,
});

export const isTracked = ({ opens, clicks }: Tracking): boolean => opens || clicks;

/** Tracking host of a domain, in lower case. */
export const trackingHost = (domainName: string): string => `track.${domainName}`;

/**
 * Base URL of links in mail of a domain whose own tracking host was seen to point to this service. Scheme, port and
 * path are those of the service.
 * @param publicUrl without a trailing slash.
 */
export const trackingUrl = (publicUrl: string, domainName: string): string => {
  const url = new URL(publicUrl);
  url.hostname = trackingHost(domainName);
  return url.href.replace(/\/+$/, '');
};

/** The host that `track.<domain>` must point to; null if the service has no host name of its own. */
export const trackingTarget = (publicUrl: string | null): string | null => {
  const host = publicUrl === null ? '' : new URL(publicUrl).hostname;
  return /\.[a-z][a-z0-9-]*$/.test(host) ? host : null;
};

/** Links up to this length stay usable when tracked. Mail programs and proxies may cut longer ones. */
const LINK_CHARACTERS_MAX = 2000;
/** `unsubscribe`, `opt-out` and similar words anywhere in the URL. */
const UNSUBSCRIBING = /unsubscribe|opt[-_]?out|abmelde|desinscri|desabonn/i;

/** Parses a link as browsers do; null if it is not an absolute web URL, or contains a password. */
const webUrl = (href: string): string | null => {
  if (href.length > LINK_CHARACTERS_MAX || !/^[\0-\x20]*https?:\/\//i.test(href)) return null;
  const url = URL.parse(href);
  return url === null || url.username + url.password !== '' ? null : url.href;
};

interface UntrackedLinks {
  /** Base URL of this service's own pages for recipients. */
  readonly publicUrl: string;
  /** Unsubscribe links of the message. */
  readonly unsubscribe?: UnsubscribeWays | 'managed' | undefined;
}

/**
 * Target URL to track for a link, parsed as browsers do (URL Standard). Null if the link must stay unchanged, because
 * it is not a web link, leads to this service, unsubscribes, contains the copy's view URL, or is too long.
 * @param href with its character references decoded.
 */
export const trackedTarget = (href: string, { publicUrl, unsubscribe }: UntrackedLinks): string | null => {
  const url = hasViewUrl(href) ? null : webUrl(href);
  if (url === null || url.length > LINK_CHARACTERS_MAX || UNSUBSCRIBING.test(url)) return null;
  const given = typeof unsubscribe === 'object' ? unsubscribe.url : undefined;
  if (given !== undefined && url === webUrl(given)) return null;
  return url.startsWith(`${publicUrl}/`) ? null : url;
};

interface CopyToTrack extends UntrackedLinks {
  readonly copy: TrackedCopy;
  /** Tracking settings of the message. */
  readonly tracking: Tracking;
  /** Base URL of tracked links, without a trailing slash. */
  readonly baseUrl: string;
}

/** Tracking of the HTML of a recipient's copy. Links are the same wherever the copy is shown. */
export const trackedHtml = (
  keys: TrackingKeys,
  { copy, tracking, baseUrl, ...untracked }: CopyToTrack,
): TrackedHtml => ({
  targetOf: (href) => (tracking.clicks ? trackedTarget(href, untracked) : null),
  hrefOf: (target, link, links) => clickUrl(keys, baseUrl, { ...copy, link, links }, target),
  pixelUrl: tracking.opens ? openUrl(keys, baseUrl, copy) : null,
});

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
type TrackedCopy = Pick<TrackedLink, 'messageId' | 'recipientId' | 'organizationId'>;

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

/**
 * Classifies the client that loaded an image or followed a link: its program family and kind of network, which are the
 * only stored traces of user agent and address, and whether it is a machine.
 */

/** Reasons to treat an open or click as a machine's. */
export const MACHINE_REASONS = [
  /** Mail Privacy Protection loads every image, whether or not the mail is read. */
  'apple_privacy_proxy',
  /** The mailbox provider loads images for its users at times of its own choice. */
  'image_proxy',
  /** A program other than a mail client, or a network of mail filters. */
  'scanner',
  /** Requested only the headers. */
  'head_request',
  /** Followed all links of the mail at once. */
  'every_link',
  /** Too soon after delivery for a person. */
  'at_delivery',
] as const;
export type MachineReason = (typeof MACHINE_REASONS)[number];

export const CLIENT_FAMILIES = [
  'apple_mail',
  'outlook',
  'thunderbird',
  'gmail',
  'yahoo_mail',
  'samsung_mail',
  'edge',
  'firefox',
  'chrome',
  'safari',
  'program',
  'other',
] as const;
export type ClientFamily = (typeof CLIENT_FAMILIES)[number];

export const NETWORK_KINDS = ['apple', 'google', 'microsoft', 'mail_filter', 'private', 'other'] as const;
export type NetworkKind = (typeof NETWORK_KINDS)[number];

/** Stored properties of a client. */
export interface Client {
  readonly family: ClientFamily;
  readonly network: NetworkKind;
}

interface TrackedRequest {
  /** User agent as sent; empty if absent. */
  readonly userAgent: string;
  readonly address: string;
  readonly isHead: boolean;
}

const rangesOf = (text: string) =>
  text
    .trim()
    .split(/\s+/)
    .map(parseRange)
    .filter((range) => range !== null);

/** Networks that their owners publish for their mail, proxies and filters. */
const NETWORKS: readonly (readonly [NetworkKind, ReturnType<typeof rangesOf>])[] = [
  ['apple', rangesOf('17.0.0.0/8 2620:149::/32')],
  [
    'google',
    rangesOf(
      '64.233.160.0/19 66.102.0.0/20 66.249.64.0/19 72.14.192.0/18 74.125.0.0/16 209.85.128.0/17 2001:4860:4000::/36',
    ),
  ],
  ['microsoft', rangesOf('40.92.0.0/15 40.107.0.0/16 52.100.0.0/14 104.47.0.0/17 2a01:111:f400::/48')],
  [
    'mail_filter',
    // Proofpoint, Mimecast, Barracuda, Cisco.
    rangesOf(`67.231.144.0/20 148.163.128.0/19 205.220.160.0/19 205.139.110.0/23 207.211.30.0/23 170.10.128.0/20
      64.235.144.0/20 209.222.80.0/21 68.232.128.0/19 216.71.128.0/19`),
  ],
];

const networkOf = (address: string): NetworkKind =>
  NETWORKS.find(([, ranges]) => isWithin(ranges, address))?.[0] ??
  (addressClassOf(address) === 'public' ? 'other' : 'private');

const IMAGE_PROXY = /GoogleImageProxy|YahooMailProxy|YahooCacheSystem|OutlookImageProxy|ImageProxy/i;
/** The complete user agent of the Mail Privacy Protection proxy. */
const APPLE_PROXY = 'Mozilla/5.0';
const PROGRAM =
  /bot\b|bot\/|crawl|spider|slurp|scan(?:ner)?\b|monitor|preview|curl\/|wget|python|aiohttp|httpx|go-http-client|okhttp|java\/|libwww|perl|ruby|php\/|axios|node-fetch|undici|headless|phantom|selenium|barracuda|mimecast|proofpoint|fireeye|trendmicro|symantec|bitdefender|sophos|zscaler|safelinks|facebookexternalhit|whatsapp|telegram|skypeuripreview/i;

/** The first match applies, because most user agents also name the families after them. */
const FAMILIES: readonly (readonly [ClientFamily, RegExp])[] = [
  ['gmail', /GoogleImageProxy/i],
  ['yahoo_mail', /YahooMailProxy|YahooCacheSystem|YahooMobileMail/i],
  ['program', PROGRAM],
  ['thunderbird', /Thunderbird/],
  ['outlook', /Outlook|MSOffice|ms-office|Microsoft Office/i],
  ['samsung_mail', /SamsungEmail|Samsung ?Mail/i],
  ['edge', /Edg(?:e|A|iOS)?\//],
  ['firefox', /Firefox\/|FxiOS\//],
  ['chrome', /Chrome\/|CriOS\//],
  ['safari', /Safari\//],
  ['apple_mail', /AppleWebKit\//],
];

const familyOf = (userAgent: string): ClientFamily => {
  if (userAgent === APPLE_PROXY) return 'apple_mail';
  return FAMILIES.find(([, pattern]) => pattern.test(userAgent))?.[0] ?? 'other';
};

const machineOf = ({ userAgent, isHead }: TrackedRequest, network: NetworkKind): MachineReason | null => {
  if (isHead) return 'head_request';
  if (userAgent === APPLE_PROXY || network === 'apple') return 'apple_privacy_proxy';
  if (IMAGE_PROXY.test(userAgent)) return 'image_proxy';
  const isFilter = network === 'microsoft' || network === 'mail_filter';
  return userAgent === '' || isFilter || PROGRAM.test(userAgent) ? 'scanner' : null;
};

/** Longer user agents are cut, because the distinguishing parts come early. */
const USER_AGENT_CHARACTERS_MAX = 512;

/** @returns `machine`: null if the request alone does not reveal one; later behaviour may (`recordEngagement`). */
export const recognizeClient = (request: TrackedRequest): Client & { readonly machine: MachineReason | null } => {
  const userAgent = request.userAgent.slice(0, USER_AGENT_CHARACTERS_MAX).trim();
  const network = networkOf(request.address);
  return { family: familyOf(userAgent), network, machine: machineOf({ ...request, userAgent }, network) };
};
