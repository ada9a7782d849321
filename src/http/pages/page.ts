import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { clientNetworkOf } from '../../domain/kernel/addresses.ts';
import { DomainError, type ErrorCode } from '../../domain/kernel/errors.ts';
import { type Logger, withTimeout } from '../../lib/async/async.ts';
import { escapeHtml } from '../../lib/html/html.ts';
import { FORM_TYPES } from '../../lib/http/http.ts';
import { type Registration, type RouteContext, type RouteDescription, routeSchema } from '../endpoint.ts';
import { beginErrorAnswer } from '../errors.ts';
import { pageSchema } from '../fields.ts';
import { methodAndUrl, type PageName } from '../route-table.ts';
import { type Locale, localeFor, type Sentences } from './languages.ts';

/**
 * Pages for people who followed a link of a mail: plain HTML, readable without styles, in light and dark, usable by keyboard
 * and screen reader, without scripts. Nothing is loaded but the sender's own picture, if there is one.
 */

/** How a page shows who sent the mail. */
export interface Sender {
  readonly name: string;
  /** `#rrggbb`; null: the colour of the service. */
  readonly color: string | null;
  /** https; null: nothing is loaded. */
  readonly logoUrl: string | null;
}

/** Posts one field to the page's own address. */
export interface Button {
  readonly label: string;
  readonly name: string;
  readonly value: string;
}

interface Choice {
  readonly value: string;
  readonly label: string;
  readonly description: string | null;
  readonly isChosen: boolean;
}

export interface Page {
  readonly title: string;
  /** Plain text, as is everything here. */
  readonly paragraphs: readonly string[];
  /** Absent: the sender is unknown. */
  readonly sender?: Sender;
  /** Result of the last post. */
  readonly notice?: string;
  readonly choices?: { readonly legend: string; readonly of: readonly Choice[] };
  /** The first is the main one. */
  readonly buttons?: readonly Button[];
  /** Relative to the page. */
  readonly links?: readonly { readonly label: string; readonly href: string }[];
}

/** Fields of the form of a page with choices: what was shown, and what was ticked. */
export const SHOWN_FIELD = 'shown';
export const CHOSEN_FIELD = 'topic';

const CHANNEL = /[\da-f]{2}/gi;

/** WCAG 2.2, relative luminance. @param color `#rrggbb`. */
const luminance = (color: string): number => {
  const [red = 0, green = 0, blue = 0] = (color.match(CHANNEL) ?? []).map((channel) => {
    const value = Number.parseInt(channel, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

/** WCAG 2.2, contrast ratio: 1 to 21. */
export const contrast = (one: string, other: string): number => {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((left, right) => left - right);
  return (lighter + 0.05) / (darker + 0.05);
};

const BLACK = '#000000';
const WHITE = '#ffffff';

/** Black or white, whichever is read more easily: at least 4.5 to 1 on any colour, as WCAG 2.2 §1.4.3 asks. */
export const textColorOn = (color: string): string =>
  contrast(color, WHITE) >= contrast(color, BLACK) ? WHITE : BLACK;

const ACCENT_LIGHT = '#1a56b0';
const ACCENT_DARK = '#7fb0ff';

const accent = (color: string): string => `--accent: ${color}; --on-accent: ${textColorOn(color)};`;

/**
 * The border keeps a button visible on either background and in any colour of the sender. Japanese has no spaces: lines
 * break between phrases, if the browser supports it, and never before small kana.
 */
const styleFor = (color: string | null): string => `
:root { color-scheme: light dark; --back: #ffffff; --text: #222222; --quiet: #555555; --line: #767676; ${accent(color ?? ACCENT_LIGHT)} }
@media (prefers-color-scheme: dark) { :root { --back: #181818; --text: #dddddd; --quiet: #aaaaaa; --line: #8a8a8a; ${accent(color ?? ACCENT_DARK)} } }
body { font: 1.05rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 10vh auto 4rem; padding: 0 1.5rem; background: var(--back); color: var(--text); overflow-wrap: anywhere; }
header { display: flex; align-items: center; gap: .75rem; color: var(--quiet); }
header img { max-width: 8rem; max-height: 3rem; }
h1 { font-size: 1.5rem; line-height: 1.3; }
a { color: inherit; text-underline-offset: .2em; }
fieldset { border: 0; margin: 0 0 1.5rem; padding: 0; }
legend { padding: 0; margin-bottom: .5rem; }
.choice { display: flex; gap: .75rem; align-items: flex-start; padding: .5rem 0; }
.choice input { width: 1.4rem; height: 1.4rem; margin: .15rem 0 0; flex: none; accent-color: var(--accent); }
.choice small { display: block; font-size: .9em; color: var(--quiet); }
button { font: inherit; min-height: 2.75rem; margin: 0 .5rem .75rem 0; padding: .5rem 1.2rem; border: 1px solid var(--line); border-radius: .4rem; background: transparent; color: inherit; cursor: pointer; }
button.main { background: var(--accent); color: var(--on-accent); }
:lang(ja) { line-break: strict; word-break: auto-phrase; }
:focus-visible { outline: 3px solid var(--text); outline-offset: 3px; }
[role=status] { padding: .6rem 1rem; border: 1px solid var(--line); border-radius: .4rem; }
`;

/** Nothing is run or framed; forms post to this service only. */
const policyOf = (style: string, logoUrl: string | null): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    ...(logoUrl === null ? [] : [`img-src ${new URL(logoUrl).origin}`]),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const headerOf = ({ sender }: Page): string => {
  if (sender === undefined) return '';
  const logo = sender.logoUrl === null ? '' : `<img src="${escapeHtml(sender.logoUrl)}" alt="">`;
  return `<header>${logo}<span>${escapeHtml(sender.name)}</span></header>`;
};

const choiceOf = ({ value, label, description, isChosen }: Choice): string => {
  const id = escapeHtml(value);
  const more = description === null ? '' : `<small id="about-${id}">${escapeHtml(description)}</small>`;
  const described = description === null ? '' : ` aria-describedby="about-${id}"`;
  return (
    `<div class="choice"><input type="hidden" name="${SHOWN_FIELD}" value="${id}">` +
    `<input type="checkbox" id="${id}" name="${CHOSEN_FIELD}" value="${id}"${described}${isChosen ? ' checked' : ''}>` +
    `<div><label for="${id}">${escapeHtml(label)}</label>${more}</div></div>`
  );
};

const formOf = ({ choices, buttons = [] }: Page): string => {
  if (buttons.length === 0) return '';
  const fields =
    choices === undefined || choices.of.length === 0
      ? ''
      : `<fieldset><legend>${escapeHtml(choices.legend)}</legend>${choices.of.map(choiceOf).join('')}</fieldset>`;
  const all = buttons.map(
    ({ label, name, value }, index) =>
      `<button${index === 0 ? ' class="main"' : ''} name="${escapeHtml(name)}" value="${escapeHtml(value)}">${escapeHtml(label)}</button>`,
  );
  return `<form method="post">${fields}${all.join('')}</form>`;
};

const linksOf = ({ links = [] }: Page): string =>
  links.map(({ label, href }) => `<p><a href="${escapeHtml(href)}">${escapeHtml(label)}</a></p>`).join('');

const htmlOf = (page: Page, { tag }: Locale, style: string): string => {
  const title = escapeHtml(page.title);
  const notice = page.notice === undefined ? '' : `<p role="status">${escapeHtml(page.notice)}</p>`;
  const paragraphs = page.paragraphs.map((text) => `<p>${escapeHtml(text)}</p>`).join('');
  return `<!doctype html>
<html lang="${tag}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>${title}</title><style>${style}</style></head>
<body>${headerOf(page)}<main><h1>${title}</h1>${notice}${paragraphs}${formOf(page)}${linksOf(page)}</main></body>
</html>
`;
};

/** Headers of everything that is behind a link of a mail. The URL is a secret of its recipient: not cached, told or indexed. */
export const secretHeaders = (reply: FastifyReply): FastifyReply =>
  reply
    .header('referrer-policy', 'no-referrer')
    .header('x-robots-tag', 'noindex, nofollow')
    .header('cache-control', 'no-store')
    .header('x-frame-options', 'DENY')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin')
    .type('text/html; charset=utf-8');

const sendPage = (reply: FastifyReply, page: Page, locale: Locale): FastifyReply => {
  const style = styleFor(page.sender?.color ?? null);
  return secretHeaders(reply)
    .header('content-security-policy', policyOf(style, page.sender?.logoUrl ?? null))
    .header('content-language', locale.tag)
    .header('vary', 'accept-language')
    .send(htmlOf(page, locale, style));
};

/** Title and text of error pages by code. */
const ERROR_SENTENCES: Partial<Readonly<Record<ErrorCode, readonly [keyof Sentences, keyof Sentences]>>> = {
  not_found: ['notFoundTitle', 'notFound'],
  content_gone: ['goneTitle', 'gone'],
  link_suspended: ['suspendedTitle', 'suspended'],
  rate_limit_exceeded: ['tooManyTitle', 'tooMany'],
  resource_conflict: ['laterTitle', 'later'],
  unavailable: ['laterTitle', 'later'],
  internal_error: ['faultTitle', 'fault'],
};

const errorPage = (code: ErrorCode, { say }: Locale): Page => {
  const [title, text] = ERROR_SENTENCES[code] ?? (['malformedTitle', 'malformed'] as const);
  return { title: say[title], paragraphs: [say[text]] };
};

/** Answers an error with a page; status, headers and log as for any error. */
export const sendErrorPage =
  (logger: Logger) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { code } = beginErrorAnswer(logger, error, request, reply).error;
    const locale = localeFor(request.headers['accept-language']);
    return sendPage(reply, errorPage(code, locale), locale);
  };

/**
 * Requests a minute from one address or customer network. Each costs a read of the log. Higher: load on the log. Lower:
 * refuses mailbox providers, which unsubscribe many people from few addresses.
 */
export const PAGE_REQUESTS_MAX = 600;
const DEADLINE_MS = 15_000;
/** RFC 8058 §3.2 posts one field of 26 characters. */
const FORM_BYTES_MAX = 4_000;

/** One request to a page. */
export interface PageCall {
  /** `:token` of the path. */
  readonly token: string;
  /** The posted form; empty for GET. */
  readonly form: FormData;
  readonly locale: Locale;
  readonly request: FastifyRequest;
}

/** Counts a request that needs no key, by its network. @throws {DomainError} `rate_limit_exceeded`. */
export const consumePageLimit = async (
  { rateLimiter }: RouteContext['auth'],
  { ip }: FastifyRequest,
): Promise<void> => {
  const { allowed, retryAfterSeconds } = await rateLimiter.take(`page:${clientNetworkOf(ip)}`, 1, PAGE_REQUESTS_MAX);
  if (allowed) return;
  throw new DomainError('rate_limit_exceeded', 'too many requests from this address', {
    retryAfterSeconds: Math.max(1, retryAfterSeconds),
  });
};

/** @throws {DomainError} `invalid_request`. */
const readForm = async ({ body, headers }: FastifyRequest): Promise<FormData> => {
  if (!Buffer.isBuffer(body)) return new FormData();
  try {
    const type = headers['content-type'] ?? '';
    return await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  } catch {
    throw new DomainError('invalid_request', 'the form is malformed');
  }
};

interface DefinePage extends Pick<RouteDescription, 'summary' | 'description' | 'body' | 'examples'> {
  /** Default: 4 kB. */
  readonly formBytesMax?: number;
}

/**
 * A route for people and their mail programs: no key, forms instead of JSON, errors as pages.
 * @param answer sends what the page is.
 */
export const publicRoute =
  (
    name: PageName,
    { formBytesMax = FORM_BYTES_MAX, ...described }: DefinePage,
    answer: (call: PageCall, reply: FastifyReply, route: RouteContext) => Promise<() => FastifyReply>,
  ): Registration =>
  (route) => {
    const { server, deps, auth, operationId } = route;
    const { method, url } = methodAndUrl(name);
    const page = { ...described, answer: pageSchema, mediaType: 'text/html', bodyMediaTypes: FORM_TYPES };

    const prepare = async (request: FastifyRequest, reply: FastifyReply): Promise<() => FastifyReply> => {
      await consumePageLimit(auth, request);
      const { token = '' } = request.params as { readonly token?: string };
      const locale = localeFor(request.headers['accept-language']);
      return answer({ token, form: await readForm(request), locale, request }, reply, route);
    };

    void server.register(async (scope) => {
      scope.setErrorHandler(sendErrorPage(deps.logger));
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser(
        [...FORM_TYPES],
        { parseAs: 'buffer' },
        async (_request: unknown, body: unknown) => body,
      );
      scope.route({
        method: method as HTTPMethods, // the table's own
        url,
        schema: routeSchema(operationId, name, page),
        bodyLimit: formBytesMax,
        handler: async (request, reply) => (await withTimeout({ ms: DEADLINE_MS }, prepare(request, reply)))(),
      });
    });
  };

/** A page of our own. */
export const page = (
  name: PageName,
  described: DefinePage,
  handle: (call: PageCall, route: RouteContext) => Promise<Page>,
): Registration =>
  publicRoute(name, described, async (call, reply, route) => {
    const shown = await handle(call, route);
    return () => sendPage(reply, shown, call.locale);
  });
