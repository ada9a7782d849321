import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { withViewUrl } from '../../domain/message/tokens.ts';

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
