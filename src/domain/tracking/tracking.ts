import type { UnsubscribeWays } from '../../lib/mime/mime.ts';
import { hasViewUrl } from '../message/recipient-link.ts';
import type { TrackedHtml } from '../ports/mail-transport.ts';
import { clickUrl, openUrl, type TrackedCopy, type TrackingKeys } from './tracking-token.ts';

/** What of a message is tracked: whether it was opened, and which of its links were clicked. */
export interface Tracking {
  readonly opens: boolean;
  readonly clicks: boolean;
}

export const NO_TRACKING: Tracking = { opens: false, clicks: false };

/** What a message asks for wins over what its domain does. */
export const trackingOf = (domain: Tracking = NO_TRACKING, message: Partial<Tracking> = {}): Tracking => ({
  opens: message.opens ?? domain.opens,
  clicks: message.clicks ?? domain.clicks,
});

export const isTracked = ({ opens, clicks }: Tracking): boolean => opens || clicks;

/** In lower case. */
export const trackingHost = (domainName: string): string => `track.${domainName}`;

/**
 * Base URL of links in mail of a domain whose own tracking host was seen to lead here: scheme, port and path are those of
 * the service, which is what answers there.
 * @param publicUrl without a slash at its end.
 */
export const trackingUrl = (publicUrl: string, domainName: string): string => {
  const url = new URL(publicUrl);
  url.hostname = trackingHost(domainName);
  return url.href.replace(/\/+$/, '');
};

/** The host that `track.<domain>` has to lead to; null: the service has no name of its own. */
export const trackingTarget = (publicUrl: string | null): string | null => {
  const host = publicUrl === null ? '' : new URL(publicUrl).hostname;
  return /\.[a-z][a-z0-9-]*$/.test(host) ? host : null;
};

/** Without it a link is one; with more, mail programs and proxies may cut it. */
const LINK_CHARACTERS_MAX = 2000;
/** `unsubscribe`, `opt-out` and the like, wherever they stand in the address. */
const UNSUBSCRIBING = /unsubscribe|opt[-_]?out|abmelde|desinscri|desabonn/i;

/** As browsers read it; null: it is no absolute address of the web, or has a password in it. */
const webUrl = (href: string): string | null => {
  if (href.length > LINK_CHARACTERS_MAX || !/^[\0-\x20]*https?:\/\//i.test(href)) return null;
  const url = URL.parse(href);
  return url === null || url.username + url.password !== '' ? null : url.href;
};

export interface UntrackedLinks {
  /** Pages of this service itself for its recipients. */
  readonly publicUrl: string;
  /** How recipients unsubscribe. */
  readonly unsubscribe?: UnsubscribeWays | 'managed' | undefined;
}

/**
 * The address that a link is tracked to, as browsers read it (URL Standard); null: the link stays as it is, because it is
 * none of the web, leads to this service, to where people unsubscribe or by the address of the copy, or is too long.
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
  /** Of the message. */
  readonly tracking: Tracking;
  /** What tracked links begin with, without a slash at its end. */
  readonly baseUrl: string;
}

/** How the html of a recipient's copy is tracked: the same links wherever it is shown. */
export const trackedHtml = (
  keys: TrackingKeys,
  { copy, tracking, baseUrl, ...untracked }: CopyToTrack,
): TrackedHtml => ({
  targetOf: (href) => (tracking.clicks ? trackedTarget(href, untracked) : null),
  hrefOf: (target, link, links) => clickUrl(keys, baseUrl, { ...copy, link, links }, target),
  pixelUrl: tracking.opens ? openUrl(keys, baseUrl, copy) : null,
});
