import { type Check, type Discovery, discovery } from '../discovery.ts';
import type { AttachmentFact, ImageFact } from '../facts.ts';
import { isPrivateHost } from '../hosts/is-private-host.ts';
import { isPixel } from '../is-pixel.ts';
import { quoted } from '../text/quoted.ts';
import { hasMarker } from './template-markers.ts';

const CONTENT_ID = /^\s*cid:/i;
const NO_SOURCE: ReadonlySet<string> = new Set(['empty', 'fragment', 'malformed', 'script', 'file']);

/** RFC 2392 §2: written as in a URL. */
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

/** Images that are not shown, or tell nothing where they are not. */
export const images: Check = function* ({ html, attachments }) {
  const contentIds = contentIdsOf(attachments);
  for (const image of html?.images ?? []) {
    yield* source(image, contentIds);
    yield* host(image);
    yield* description(image);
  }
};
