import type { FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { clientNetworkOf } from '../../domain/kernel/addresses.ts';
import { DomainError, type ErrorCode } from '../../domain/kernel/errors.ts';
import { type Logger, withTimeout } from '../../lib/async/async.ts';
import type { Registration, RouteContext } from '../endpoint.ts';
import { beginErrorAnswer } from '../errors/error-handlers.ts';
import { type Described, routeSchema } from '../openapi/operation.ts';
import { methodAndUrl, type PageName } from '../route-table.ts';
import { pageSchema } from '../schemas/envelope.ts';
import { type Locale, localeFor } from './languages.ts';
import type { Sentences } from './locales/en.ts';
import { type Page, sendPage } from './page.ts';

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

/** Media types of forms (RFC 8058 §3.2). */
export const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const;

/** One request to a page. */
export interface PageCall {
  /** `:token` of the path. */
  readonly token: string;
  /** The posted form; empty for GET. */
  readonly form: FormData;
  readonly locale: Locale;
  readonly request: FastifyRequest;
}

const consumeRateLimit = async ({ rateLimiter }: RouteContext['auth'], { ip }: FastifyRequest): Promise<void> => {
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

interface DefinePage extends Pick<Described, 'summary' | 'description' | 'body' | 'examples'> {
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
      await consumeRateLimit(auth, request);
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
