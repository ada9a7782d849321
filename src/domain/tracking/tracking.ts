import type { UnsubscribeWays } from '../../lib/mime/mime.ts';
import { hasViewUrl } from '../message/recipient-link.ts';
import type { TrackedHtml } from '../ports/mail-transport.ts';
import { clickUrl, openUrl, type TrackedCopy, type TrackingKeys } from './tracking-token.ts';

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

export interface UntrackedLinks {
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

export interface CopyToTrack extends UntrackedLinks {
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
