import type { HtmlTracker, OutgoingMail, TrackedHtml } from '../../domain/ports/mail.ts';
import { TRACKED_LINKS_MAX } from '../../domain/tracking/tracking.ts';
import { createWorkerThreads } from '../../lib/async/async.ts';
import { escapeHtml, readHtml, type StartTag } from '../../lib/html/html.ts';

/**
 * Redirects the links of a message's html through this service, and adds the image that records opens. The html is read
 * once for all copies. Each copy is the source with some `href` values replaced and nothing else changed.
 */

/** The `href` of a link. The offsets are those of its value, with its quotes. */
interface LinkPlace {
  readonly start: number;
  readonly end: number;
  /** Character references are decoded. */
  readonly href: string;
}

/** The parts of html that tracking changes. */
export interface TrackingPlaces {
  /** In the order of the source. */
  readonly links: readonly LinkPlace[];
  /** Offset at which the image is inserted. */
  readonly pixelAt: number;
}

const LINKING: ReadonlySet<string> = new Set(['a', 'area']);
const OFF = 'data-outbox-track';
/** Name, equals sign and white space before the value. */
const BEFORE_VALUE = /^href[\t\n\f\r ]*=[\t\n\f\r ]*/i;

const placeIn = (html: string, tag: StartTag): LinkPlace | null => {
  if (!LINKING.has(tag.name) || tag.attribute(OFF)?.trim().toLowerCase() === 'off') return null;
  const found = tag.attributes.find(({ name }) => name === 'href');
  if (found === undefined) return null;
  const before = BEFORE_VALUE.exec(html.slice(found.start, found.end));
  if (before === null) return null;
  return { start: found.start + before[0].length, end: found.end, href: found.value };
};

const BODY_END = /<\/body[\t\n\f\r />]/gi;

/** Before the last end tag of the body, or at the end of the html without such a tag outside a comment. */
const pixelPlace = (html: string): number => {
  const at = [...html.matchAll(BODY_END)].at(-1)?.index ?? -1;
  const isInComment = html.lastIndexOf('<!--', at) > html.lastIndexOf('-->', at);
  return at < 0 || isInComment ? html.length : at;
};

/** One pass over the html, without a tree. */
export const trackingPlaces = (html: string): TrackingPlaces => {
  const links: LinkPlace[] = [];
  readHtml<void>(html, {
    root: undefined,
    start: (tag) => {
      const place = placeIn(html, tag);
      if (place !== null) links.push(place);
    },
    end: () => {},
    strayEnd: () => {},
  });
  return { links, pixelAt: pixelPlace(html) };
};

/** Keeps the original quotes. An unquoted value gets quotes, since a query is not valid without them. */
const quotedLike = (written: string, href: string): string => {
  const quote = written.startsWith("'") ? "'" : '"';
  return `${quote}${escapeHtml(href)}${quote}`;
};

/** Invisible but not hidden: mail programs do not load hidden images. */
const pixelOf = (url: string): string =>
  `<img src="${escapeHtml(url)}" alt="" width="1" height="1" border="0" style="width:1px;height:1px;border:0;margin:0;padding:0">`;

/** The html of one copy. */
export const trackHtml = (html: string, { links, pixelAt }: TrackingPlaces, tracking: TrackedHtml): string => {
  const tracked = links
    .map((place) => ({ ...place, target: tracking.targetOf(place.href) }))
    .filter((place): place is typeof place & { target: string } => place.target !== null)
    .slice(0, TRACKED_LINKS_MAX);
  const edits = tracked.map(({ start, end, target }, link) => ({
    start,
    end,
    text: quotedLike(html.slice(start, end), tracking.hrefOf(target, link, tracked.length)),
  }));
  const { pixelUrl } = tracking;
  const all = pixelUrl === null ? edits : [...edits, { start: pixelAt, end: pixelAt, text: pixelOf(pixelUrl) }];
  let written = '';
  let at = 0;
  for (const { start, end, text } of all.sort((left, right) => left.start - right.start)) {
    written += html.slice(at, start) + text;
    at = end;
  }
  return written + html.slice(at);
};

/** Smaller bodies are read inline (0.2 ms), larger ones in a thread. */
const INLINE_CHARACTERS_MAX = 20_000;
/** A megabyte takes 50 ms, and a hostile one 300 ms. After this limit, the message is sent untracked. */
const RUN_MS_MAX = 500;
/** A message that waits longer is also sent untracked. Higher: the wait uses up the time of the delivery attempt. */
const WAIT_MS_MAX = 20_000;
const WAITING_MAX = 256;
const THREADS = 1;

/** Reads html inline or in a thread, once for all copies. Organizations take turns. */
export const createHtmlTracker = (): HtmlTracker => {
  const workers = createWorkerThreads<{ readonly job: 'find-links'; readonly html: string }, TrackingPlaces>({
    entry: new URL('./html-thread.ts', import.meta.url),
    threads: THREADS,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });
  const known = new WeakMap<OutgoingMail['body'], Promise<TrackingPlaces | null>>();

  const find = async (html: string, owner: string): Promise<TrackingPlaces | null> => {
    if (html.length <= INLINE_CHARACTERS_MAX) return trackingPlaces(html);
    return workers.run({ job: 'find-links', html }, owner).catch(() => null);
  };

  return {
    htmlOf: async ({ organizationId = '', body, tracking }) => {
      const { html } = body;
      if (html === undefined || tracking === undefined) return html;
      const places = known.get(body) ?? find(html, organizationId);
      known.set(body, places);
      const found = await places;
      return found === null ? html : trackHtml(html, found, tracking);
    },
    close: workers.close,
  };
};
