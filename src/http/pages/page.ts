import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';

/** What a person who followed a link is shown: a page that is whole by itself and runs nothing. */
export interface Page {
  readonly title: string;
  /** Plain text. */
  readonly paragraphs: readonly string[];
  /** A button that posts one field to the page's own address. */
  readonly button?: { readonly label: string; readonly name: string; readonly value: string };
}

const STYLE = `
  :root { color-scheme: light dark; }
  body { font: 1.05rem/1.6 system-ui, sans-serif; max-width: 32rem; margin: 15vh auto 0; padding: 0 1.5rem; background: #fff; color: #222; overflow-wrap: anywhere; }
  h1 { font-size: 1.4rem; line-height: 1.3; }
  button { font: inherit; padding: .6rem 1.2rem; border: 0; border-radius: .4rem; background: #1a56b0; color: #fff; cursor: pointer; }
  button:focus-visible { outline: 3px solid #7fb0ff; outline-offset: 2px; }
  @media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } button { background: #7fb0ff; color: #111; } }
`;

/** Nothing is loaded, run or framed; a form may be posted back to us. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  ...["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ');

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');

const formOf = ({ button }: Page): string =>
  button === undefined
    ? ''
    : `<form method="post"><button name="${escaped(button.name)}" value="${escaped(button.value)}">${escaped(button.label)}</button></form>`;

const htmlOf = (page: Page): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>${escaped(page.title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escaped(page.title)}</h1>${page.paragraphs.map((text) => `<p>${escaped(text)}</p>`).join('')}${formOf(page)}</main></body>
</html>
`;

/** Its address is a secret of who was sent it: it is neither kept, nor told to others, nor found. */
export const sendPage = (reply: FastifyReply, page: Page): FastifyReply =>
  reply
    .header('content-security-policy', POLICY)
    .header('referrer-policy', 'no-referrer')
    .header('x-robots-tag', 'noindex, nofollow')
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(htmlOf(page));
