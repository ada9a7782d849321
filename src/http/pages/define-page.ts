import type { FastifyRequest, HTTPMethods } from 'fastify';
import { withTimeout } from '../../async/with-timeout.ts';
import { neighbourhoodOf } from '../../domain/address-ranges.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { RouteContext } from '../endpoint.ts';
import type { Described } from '../openapi/operation.ts';
import { routeSchema } from '../route-schema.ts';
import { methodAndUrl, type PageName } from '../route-table.ts';
import { pageShape } from '../schemas/page.ts';
import { sendErrorPage } from './error-page.ts';
import { type Page, sendPage } from './page.ts';

/**
 * Requests a minute from one address, or from the network that one customer is usually given. Each costs a read of the
 * log: more wear it, fewer turn away a mailbox provider, which unsubscribes for many people from few addresses.
 */
export const PAGE_REQUESTS_MAX = 600;
const DEADLINE_MS = 15_000;
/** RFC 8058 §3.2 posts one field of 26 characters. */
const FORM_BYTES_MAX = 4_000;

/** How a form may be posted (RFC 8058 §3.2). */
export const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const;

/** One request to a page. */
export interface PageCall {
  /** `:token` of the path. */
  readonly token: string;
  /** What was posted; empty where nothing was. */
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
 * Registers a route of the table that people open, or mail programs for them: no key, forms in place of JSON, and
 * whatever goes wrong is a page too.
 */
export const definePage = (
  { server, deps, auth, operationId }: RouteContext,
  name: PageName,
  described: Pick<Described, 'summary' | 'description' | 'body' | 'examples'>,
  handle: (call: PageCall) => Promise<Page>,
): void => {
  const { method, url } = methodAndUrl(name);
  const page = { ...described, answer: pageShape, mediaType: 'text/html', bodyMediaTypes: FORM_TYPES };

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
