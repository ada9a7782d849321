import { type HtmlFacts, hitsIn, type ImageFact, isPrivateHost, quoted } from '../../../lib/html/html.ts';
import { type AttachmentFact, type Check, type Discovery, discovery } from '../facts.ts';
import { hasMarker } from './texts.ts';

/** Rules about images that cannot be loaded or seen, and about mail that consists of images. */

/** `0`, `1`, `1px`. */
const TINY = /^\s*[01](?:px)?\s*$/;

/** Whether the image is a tracking pixel. */
export const isPixel = ({ width, height }: Pick<ImageFact, 'width' | 'height'>): boolean =>
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
    yield discovery('image-data-uri', 'html', 'an image is written into the html as a data URI', offset);
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
    const said = (): string => `the image ${quoted(src)} is too small to be seen, like one that tracks`;
    if (image.target.kind === 'web') yield discovery('tracking-pixel', 'html', said, offset);
    return;
  }
  const shown = (): string => quoted(src);
  if (alt === null) yield discovery('image-without-alt', 'html', () => `the image ${shown()} has no alt`, offset);
  if (width === null) yield discovery('image-without-width', 'html', () => `the image ${shown()} has no width`, offset);
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
    const said = `no \`cid:\` in the html refers to the inline image ${quoted(filename)}, so readers may not see it`;
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
