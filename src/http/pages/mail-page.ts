import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { withViewUrl } from '../../domain/message/tokens.ts';
import { escapeHtml } from '../../lib/html/html.ts';
import type { StoredAttachment } from '../../lib/mime/mime.ts';

/** A mail as a page. It is a stranger's html: who sends it sends a policy with it under which nothing runs. */

/** Images of a mail that are shown. More: a page that phones cannot load. The others leave their alternative text. */
const IMAGE_CHARACTERS_MAX = 5_000_000;
const IMAGE_TYPE = /^image\/[a-z0-9.+-]+$/i;
/** In an attribute or a style. */
const INLINE_IMAGE = /(["'(=])cid:([^"'()<>\s]{1,200})/gi;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

type ShownAttachment = Pick<StoredAttachment, 'contentId' | 'contentType' | 'content'>;

/** The html with what it shows of the mail's own attachments (RFC 2392) in it. */
export const withImages = (html: string, attachments: readonly ShownAttachment[]): string => {
  const images = new Map<string, ShownAttachment>();
  for (const each of attachments) {
    if (each.contentId !== undefined && IMAGE_TYPE.test(each.contentType)) images.set(each.contentId, each);
  }
  let left = IMAGE_CHARACTERS_MAX;
  return html.replace(INLINE_IMAGE, (reference: string, before: string, id: string) => {
    const image = images.get(decoded(id));
    if (image === undefined || image.content.length > left) return reference;
    left -= image.content.length;
    return `${before}data:${image.contentType};base64,${image.content.replace(/\s/g, '')}`;
  });
};

/** A mail without html. */
export const pageOfText = (subject: string, text: string): string => `<!doctype html>
<html>
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(subject)}</title>
<style>:root { color-scheme: light dark } pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; max-width: 45rem; margin: 2rem auto; padding: 0 1rem }</style></head>
<body><pre>${escapeHtml(text)}</pre></body>
</html>
`;

/**
 * A mail as a document of its own for a frame of the dashboard. It is a stranger's html: its policy lets nothing run, post
 * or leave the frame, and what connects before a policy is asked is taken out of the text.
 */

const policyOf = (hasImages: boolean): string =>
  [
    'sandbox allow-popups allow-popups-to-escape-sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src data:${hasImages ? ' https:' : ''}`,
    'font-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ');

/** Elements that connect to other hosts before the policy applies, or change the target of links. They are renamed to unknown elements. */
const ELEMENTS_LEFT_OUT = /<(?=(?:link|base|meta|i?frame|object|embed)[\s/>])/gi;
/** Matches a URL to its end, so that each character is read once. */
const URLS = /https?:\/\/[^\s"'<>()]+/gi;
/** Path of our own open pixel, also in forwarded mail. */
const OPEN_PIXEL = /\/o\/[\w-]{16,}/i;
const DOCTYPE = /^\s*<!doctype[^>]*>/i;
/** Links leave the frame. */
const BASE = '<base target="_blank">';

/** The page, inert as far as text can be; the policy sees to the rest. */
const inertPage = (html: string): string => {
  const inert = withViewUrl(html, '#')
    .replace(ELEMENTS_LEFT_OUT, '<x-')
    .replace(URLS, (url) => (OPEN_PIXEL.test(url) ? 'data:,' : url));
  const [doctype = ''] = DOCTYPE.exec(inert) ?? [];
  return doctype + BASE + inert.slice(doctype.length);
};

/** A parameter of a preview. */
export const imagesField = z
  .enum(['none', 'remote'])
  .default('none')
  .describe('`remote`: load images from other hosts over https, which notifies those hosts; never our own open pixel.');

/** @returns the body, for which the headers of the reply are set. */
export const sealedMail = (reply: FastifyReply, html: string, images: z.output<typeof imagesField>): string => {
  reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', policyOf(images === 'remote'))
    .header('referrer-policy', 'no-referrer')
    .header('x-dns-prefetch-control', 'off')
    .header('cross-origin-resource-policy', 'same-origin');
  return inertPage(html);
};
