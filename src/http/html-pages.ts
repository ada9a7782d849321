import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { withTimeout } from '../async/with-timeout.ts';
import { neighbourhoodOf } from '../domain/address-ranges.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { ErrorCode } from '../domain/error-catalogue.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { RouteContext } from './endpoint.ts';
import { beginErrorAnswer } from './errors/error-handlers.ts';
import { type Described, routeSchema } from './openapi/operation.ts';
import { methodAndUrl, type PageName } from './route-table.ts';
import { pageSchema } from './schemas/envelope.ts';

/** A page for a person who followed a link. Self-contained, without scripts. */
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

/** Nothing is loaded, run or framed; forms post to this service only. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
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

/** The URL is a secret of its recipient: it is not cached, sent as referrer or indexed. */
export const sendPage = (reply: FastifyReply, page: Page): FastifyReply =>
  reply
    .header('content-security-policy', POLICY)
    .header('referrer-policy', 'no-referrer')
    .header('x-robots-tag', 'noindex, nofollow')
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(htmlOf(page));

const MALFORMED: Page = {
  title: 'This did not work',
  paragraphs: ['What was sent to this address is not what its page sends. Open the link from the mail again.'],
};

const LATER: Page = {
  title: 'Not possible just now',
  paragraphs: ['The service is away for a moment. Try again in a minute.'],
};

/** Error pages by code. */
const PAGES: Partial<Readonly<Record<ErrorCode, Page>>> = {
  not_found: {
    title: 'This link is not valid',
    paragraphs: ['It may have been cut off on its way. Open it from the mail again, or copy the whole of it.'],
  },
  rate_limit_exceeded: {
    title: 'Too many requests',
    paragraphs: ['Many requests came from your network within a minute. Wait a minute, then try again.'],
  },
  resource_conflict: LATER,
  unavailable: LATER,
  internal_error: {
    title: 'Something went wrong',
    paragraphs: ['The fault is ours and has been logged. Try again later.'],
  },
};

/** Answers an error with a page; status, headers and log as for any error. */
export const sendErrorPage =
  (logger: Logger) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { code } = beginErrorAnswer(logger, error, request, reply).error;
    return sendPage(reply, PAGES[code] ?? MALFORMED);
  };

/**
 * Requests a minute from one address or customer network. Each costs a read of the log. Higher: load on the log. Lower:
 * refuses mailbox providers, which unsubscribe many people from few addresses.
 */
export const PAGE_REQUESTS_MAX = 600;
const DEADLINE_MS = 15_000;
/** RFC 8058 §3.2 posts one field of 26 characters. */
const FORM_BYTES_MAX = 4_000;

/** Media types of forms (RFC 8058 §3.2). */
export const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const;

/** One request to a page. */
export interface PageCall {
  /** `:token` of the path. */
  readonly token: string;
  /** The posted form; empty for GET. */
  readonly form: FormData;
  readonly request: FastifyRequest;
}

const consumeRateLimit = async ({ rateLimiter }: RouteContext['auth'], { ip }: FastifyRequest): Promise<void> => {
  const { allowed, retryAfterSeconds } = await rateLimiter.take(`page:${neighbourhoodOf(ip)}`, 1, PAGE_REQUESTS_MAX);
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

/**
 * Registers a route for people and their mail programs: no key, forms instead of JSON, errors as pages.
 */
export const definePage = (
  { server, deps, auth, operationId }: RouteContext,
  name: PageName,
  described: Pick<Described, 'summary' | 'description' | 'body' | 'examples'>,
  handle: (call: PageCall) => Promise<Page>,
): void => {
  const { method, url } = methodAndUrl(name);
  const page = { ...described, answer: pageSchema, mediaType: 'text/html', bodyMediaTypes: FORM_TYPES };

  const answer = async (request: FastifyRequest): Promise<Page> => {
    await consumeRateLimit(auth, request);
    const { token = '' } = request.params as { readonly token?: string };
    return handle({ token, form: await readForm(request), request });
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
      bodyLimit: FORM_BYTES_MAX,
      handler: async (request, reply) => sendPage(reply, await withTimeout({ ms: DEADLINE_MS }, answer(request))),
    });
  });
};
