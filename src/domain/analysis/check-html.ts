import {
  type HiddenTextFact,
  type HtmlFacts,
  type HtmlProblem,
  hitsIn,
  type ImageFact,
  isIpAddress,
  isPrivateHost,
  type LinkFact,
  type NamedHost,
  namedHosts,
  quoted,
  siteOf,
  type Target,
  URL_SHORTENERS,
} from '../../lib/html/html.ts';
import type { RuleName } from './analysis.ts';
import { hasMarker } from './check-texts.ts';
import { type AttachmentFact, type Check, type Discovery, discovery, type MessageFacts } from './facts.ts';

/** Rules about the HTML as a whole: invalid, too large, stripped by mail clients, or hidden from people. */

/** Maximum nesting of elements. Some mail clients give up earlier, and no mail needs this much. */
const DEPTH_MAX = 100;

/** Findings for HTML that the strict rule rejects. */
export const invalidHtml = (problems: readonly HtmlProblem[]): readonly Discovery[] =>
  problems.map(({ line, column, message }) =>
    discovery('html-invalid', 'html', `not valid HTML: ${message}`, { line, column }),
  );

/** Reports HTML that the strict rule rejects, and valid HTML that still causes trouble. */
export const validHtml: Check = function* ({ html }) {
  if (html === null) return;
  yield* invalidHtml(html.problems);
  for (const { what, offset } of html.repeatedAttributes) {
    yield discovery('html-attribute-repeated', 'html', () => `the attribute ${what} appears twice in one tag`, offset);
  }
  if (html.depth > DEPTH_MAX) yield discovery('html-deep', 'html', `elements are nested ${html.depth} deep`);
  if (html.root?.lang === '') {
    yield discovery('html-lang-missing', 'html', 'the html element has no attribute lang', html.root.offset);
  }
};

const KIB = 1024;
/** Gmail clips HTML after this size, measured in UTF-8. */
const CLIPPED_KIB = 102;
/** Many mailboxes and gateways accept no more, and every recipient stores a copy. */
const MESSAGE_BYTES_MAX = 10_000_000;
const MEGABYTE = 1_000_000;

/** Reports mail that is too large to be delivered or shown in full. */
export const size: Check = function* ({ html, sizeBytes }) {
  const htmlBytes = Buffer.byteLength(html?.source ?? '');
  if (htmlBytes > CLIPPED_KIB * KIB) {
    const said = `the html is ${Math.ceil(htmlBytes / KIB)} kB: Gmail cuts it after ${CLIPPED_KIB} kB`;
    yield discovery('html-clipped', 'html', said);
  }
  if (sizeBytes > MESSAGE_BYTES_MAX) {
    const said = `the message is about ${(sizeBytes / MEGABYTE).toFixed(1)} MB`;
    yield discovery('message-large', 'attachments', said);
  }
};

/** Reports content that mail clients strip or treat as an attack, and external styles that most clients do not load. */
export const activeContent: Check = function* ({ html }) {
  for (const { what, offset } of html?.activeContents ?? []) {
    yield discovery('active-content', 'html', () => `${what} does not work in mail`, offset);
  }
  for (const { what, offset } of html?.externalStyles ?? []) {
    yield discovery(
      'external-style',
      'html',
      () => `${what} loads a style sheet, which most mail programs do not load`,
      offset,
    );
  }
};

/** Maximum length of a preheader: text hidden in the mail that mailboxes show after the subject in their lists. */
const PREHEADER_CHARACTERS_MAX = 200;

const isPreheader = ({ atStart, characters }: HiddenTextFact, index: number): boolean =>
  index === 0 && atStart && characters <= PREHEADER_CHARACTERS_MAX;

/** A style sheet with media queries can show the text on other screens, the usual technique for responsive mail. */
const isForOtherScreens = ({ selectable }: HiddenTextFact, { hasMediaQueries }: HtmlFacts): boolean =>
  selectable && hasMediaQueries;

/**
 * Reports text that filters read and people do not see. Only inline styles are evaluated; style sheets are not applied.
 */
export const hiddenText: Check = function* ({ html }) {
  for (const [index, hidden] of (html?.hiddenTexts ?? []).entries()) {
    if (html === null || isPreheader(hidden, index) || isForOtherScreens(hidden, html)) continue;
    const { by, characters, offset } = hidden;
    yield discovery('hidden-text', 'html', () => `text of length ${characters} is hidden by ${by}`, offset);
  }
};

/** Rules about links: their targets, their texts and their hosts. */

type LinkRule = readonly [rule: RuleName, sentence: (link: LinkFact) => string];

const BY_KIND: Readonly<Partial<Record<Target['kind'], LinkRule>>> = {
  script: ['link-script', ({ href }) => `a link runs the script ${quoted(href)}`],
  data: ['link-script', ({ href }) => `a link opens the data URI ${quoted(href)}`],
  file: ['link-private-host', ({ href }) => `a link goes to ${quoted(href)}, a file on your machine`],
  malformed: ['link-malformed', ({ href }) => `a link has the incomplete address ${quoted(href)}`],
  empty: ['link-empty', ({ text }) => `the link ${quoted(text)} has no target`],
};

/** An unfilled template variable in a URL is reported by its own rule. */
const isOpen = ({ target, href }: LinkFact): boolean => target.kind === 'malformed' && hasMarker(href);

function* telling(link: LinkFact): Generator<Discovery> {
  const told = BY_KIND[link.target.kind];
  if (told === undefined || isOpen(link)) return;
  const [rule, sentence] = told;
  yield discovery(rule, 'html', () => sentence(link), link.offset);
}

/** Reports links that have no target, or whose target is not a web page. */
export const linkTargets: Check = function* ({ html }) {
  for (const link of html?.links ?? []) yield* telling(link);
};

const RULES = { url: 'link-text-mismatch', name: 'link-text-other-name' } as const;

/** A host named in the text when the link goes to another site; null if they agree or the text names none. */
const otherHost = ({ target, text }: LinkFact): (NamedHost & { readonly goesTo: string }) | null => {
  if (target.kind !== 'web') return null;
  const named = namedHosts(text);
  const site = siteOf(target.host);
  if (named.some(({ host }) => siteOf(host) === site)) return null;
  const first = named.find(({ kind }) => kind === 'url') ?? named[0];
  return first === undefined ? null : { ...first, goesTo: target.host };
};

/** Reports links whose text names another site than the target. */
export const linkTexts: Check = function* ({ html }) {
  for (const link of html?.links ?? []) {
    const other = otherHost(link);
    if (other === null) continue;
    const { host, kind, goesTo } = other;
    yield discovery(RULES[kind], 'html', () => `the link’s text names ${host}, but it goes to ${goesTo}`, link.offset);
  }
};

/** The user name before the @ is not a host but looks like one: `https://bank.example@evil.example`. */
const USER_NAME = /^\s*https?:[\\/]*[^\\/?#]*@/i;

interface WebLink extends LinkFact {
  readonly target: Extract<LinkFact['target'], { kind: 'web' }>;
}

const isWeb = (link: LinkFact): link is WebLink => link.target.kind === 'web';

function* judged(field: string, { href, target: { host, plain }, offset }: WebLink): Generator<Discovery> {
  const shown = (): string => quoted(href);
  if (isPrivateHost(host)) {
    yield discovery(
      'link-private-host',
      field,
      () => `${shown()} leads to a host that recipients cannot reach`,
      offset,
    );
    return;
  }
  if (USER_NAME.test(href)) {
    yield discovery('link-user-name', field, () => `${shown()} goes to ${host}, hidden behind a user name`, offset);
  }
  if (isIpAddress(host)) yield discovery('link-ip-address', field, () => `${shown()} has no host name`, offset);
  if (URL_SHORTENERS.has(host)) {
    yield discovery('link-shortener', field, () => `${shown()} hides its target behind a link shortener`, offset);
  }
  if (plain) yield discovery('link-plain-http', field, () => `${shown()} is not encrypted`, offset);
}

/** Reports each site other than the sender's once. */
function* otherSites(links: readonly WebLink[], own: string): Generator<Discovery> {
  const seen = new Set([siteOf(own)]);
  for (const { target, offset } of links) {
    const site = siteOf(target.host);
    if (seen.has(site)) continue;
    seen.add(site);
    const said = (): string => `links go to ${site}, which is not the sending domain ${own}`;
    yield discovery('link-other-site', 'html', said, offset);
  }
}

/** Links that are only in the plain text. Links that are also in the HTML are reported there. */
const onlyInText = ({ html, textLinks }: MessageFacts): readonly LinkFact[] => {
  const linked = new Set(html?.links.map(({ href }) => href));
  return textLinks.filter(({ href }) => !linked.has(href));
};

/** Reports suspicious hosts of links and images. */
export const linkHosts: Check = function* (facts) {
  const links = (facts.html?.links ?? []).filter(isWeb);
  for (const link of links) yield* judged('html', link);
  for (const link of onlyInText(facts).filter(isWeb)) yield* judged('text', link);
  yield* otherSites(links, facts.domain.name);
};

/** Rules about images that cannot be loaded or seen, and about mail that consists of images. */

/** `0`, `1`, `1px`. */
const TINY = /^\s*[01](?:px)?\s*$/;

/** Whether the image is a tracking pixel. */
const isPixel = ({ width, height }: Pick<ImageFact, 'width' | 'height'>): boolean =>
  TINY.test(width ?? '') && TINY.test(height ?? '');

const IMAGE = /^\s*image\//i;
const CONTENT_ID = /^\s*cid:/i;
const NO_SOURCE: ReadonlySet<string> = new Set(['empty', 'fragment', 'malformed', 'script', 'file']);

/** The content id in a `cid:` URL, which percent-encodes it (RFC 2392 §2). */
const contentIdOf = (src: string): string => {
  const written = src.replace(CONTENT_ID, '').trim();
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
};

function* source({ src, target, offset }: ImageFact, contentIds: ReadonlySet<string>): Generator<Discovery> {
  if (target.kind === 'data') {
    yield discovery('image-data-uri', 'html', 'an image is embedded in the html as a data URI', offset);
  } else if (CONTENT_ID.test(src)) {
    const said = (): string => `the image ${quoted(src)} is not among the attachments`;
    if (!contentIds.has(contentIdOf(src))) yield discovery('image-attachment-missing', 'html', said, offset);
  } else if (NO_SOURCE.has(target.kind) && !hasMarker(src)) {
    yield discovery('image-without-source', 'html', () => `the image ${quoted(src)} cannot be loaded`, offset);
  }
}

function* host({ src, target, offset }: ImageFact): Generator<Discovery> {
  if (target.kind !== 'web') return;
  if (isPrivateHost(target.host)) {
    const said = (): string => `the image ${quoted(src)} is on a host that recipients cannot reach`;
    yield discovery('link-private-host', 'html', said, offset);
  } else if (target.plain) {
    yield discovery('link-plain-http', 'html', () => `the image ${quoted(src)} is not encrypted`, offset);
  }
}

function* description(image: ImageFact): Generator<Discovery> {
  const { src, alt, width, offset } = image;
  if (isPixel(image)) {
    const said = (): string => `the image ${quoted(src)} is too small to be visible, like a tracking pixel`;
    if (image.target.kind === 'web') yield discovery('tracking-pixel', 'html', said, offset);
    return;
  }
  const shown = (): string => quoted(src);
  if (alt === null)
    yield discovery('image-without-alt', 'html', () => `the image ${shown()} has no attribute alt`, offset);
  if (width === null)
    yield discovery('image-without-width', 'html', () => `the image ${shown()} has no attribute width`, offset);
}

const contentIdsOf = (attachments: readonly AttachmentFact[]): ReadonlySet<string> =>
  new Set(attachments.flatMap(({ contentId }) => contentId ?? []));

/** Attributes, style sheets and conditional comments can all reference an attachment. */
const REFERENCE = /\bcid:[^\s"'<>()\\]{1,1000}/gi;
const BRACKETS = /^<(.*)>$/;

/** Reports attached images that mail programs do not list as files, because they expect the HTML to show them. */
function* unused({ source, images }: HtmlFacts, attachments: readonly AttachmentFact[]): Generator<Discovery> {
  const written = Array.from(hitsIn(source, REFERENCE), ({ text }) => text);
  const used = new Set([...written, ...images.map(({ src }) => src)].map(contentIdOf));
  for (const { field, filename, contentType, contentId, disposition } of attachments) {
    const isInline = contentId !== undefined && disposition !== 'attachment' && IMAGE.test(contentType);
    if (!isInline || used.has(contentId.replace(BRACKETS, '$1'))) continue;
    const said = `no \`cid:\` in the html refers to the inline image ${quoted(filename)}, so recipients may not see it`;
    yield discovery('image-attachment-unused', field, said);
  }
}

/** Reports images that are not shown, or that have no useful alternative text. */
export const images: Check = function* ({ html, attachments }) {
  const contentIds = contentIdsOf(attachments);
  for (const image of html?.images ?? []) {
    yield* source(image, contentIds);
    yield* host(image);
    yield* description(image);
  }
  if (html !== null) yield* unused(html, attachments);
};

/**
 * Most mail clients block images by default. A product picture with a caption has more text, image-only mail has less.
 */
const CHARACTERS_PER_IMAGE_MIN = 50;
/** Smaller images, such as social and list icons, do not replace text. */
const ICON_PIXELS_MAX = 48;

const isPicture = (image: ImageFact): boolean => {
  const width = Number.parseInt(image.width ?? '', 10);
  return !isPixel(image) && !image.hidden && !(width <= ICON_PIXELS_MAX);
};

/** Reports mail that says nothing until its images are loaded. */
export const imageHeavy: Check = function* ({ html }) {
  if (html === null) return;
  const count = html.images.filter(isPicture).length;
  if (html.visibleCharacters >= count * CHARACTERS_PER_IMAGE_MIN) return;
  const images = count === 1 ? 'one image' : `${count} images`;
  const said = `the html shows ${images} and text of length ${html.visibleCharacters}`;
  yield discovery('image-heavy', 'html', said);
};
