import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import { withTimeout } from '../../lib/async/async.ts';
import { acceptedIn, isNotModified } from '../../lib/http/http.ts';
import { POLICY, type ReferencePages, referencePages } from '../docs/page.ts';
import { defineEndpoint, endpoint, type RouteContext, routeSchema } from '../endpoint.ts';
import { openApiDocument } from '../openapi/document.ts';
import { createServiceHealth, serviceSchema } from '../service-health.ts';

/** Routes about the service itself: probes, and the API reference as OpenAPI and as a page. */

/** A healthy database answers in milliseconds; load balancers probe every few seconds. */
const PROBE_MS_MAX = 1_000;

const ok = z.strictObject({ status: z.literal('ok') });
const ready = ok.extend({
  rebuilding: z
    .array(
      z.strictObject({
        read_model: z.string(),
        percent: z.int().min(0).max(100).meta({ description: 'How much of the log is in it.' }),
      }),
    )
    .optional()
    .describe('Read models that are being rebuilt. Until then their lists may lag.'),
});
const alive = ok.extend({
  version: z.string().meta({ description: 'Version of the service.', examples: ['0.1.0'] }),
});

/** Liveness of the process. */
export const livezRoute = ({ server, deps, operationId }: RouteContext): void => {
  const schema = routeSchema(operationId, 'GET /livez', { summary: 'Liveness probe', answer: alive });
  server.get('/livez', { schema }, async () => ({ status: 'ok', version: deps.version }));
};

/** Each part once. The longest name says the most about it: `log: it was replaced`. */
const partsOnce = (names: readonly string[]): readonly string[] =>
  Map.groupBy(names, (name) => name.split(':')[0])
    .values()
    .map((ofPart) => ofPart.reduce((one, other) => (other.length > one.length ? other : one)))
    .toArray();

/** Readiness: the key cache is fresh, all dependencies answer, and the server is not closing. */
export const readyzRoute = ({ server, deps, auth, closing, operationId }: RouteContext): void => {
  const failed = async ([name, probe]: readonly [string, () => Promise<unknown>]): Promise<readonly string[]> => {
    try {
      await withTimeout({ ms: PROBE_MS_MAX }, probe());
      return [];
    } catch {
      return [name];
    }
  };

  const rebuilding = async () => {
    const rebuilds = await withTimeout({ ms: PROBE_MS_MAX }, deps.readModels.rebuilds()).catch(() => []);
    if (rebuilds.length === 0) return {};
    return { rebuilding: rebuilds.map(({ name, part }) => ({ read_model: name, percent: Math.floor(100 * part) })) };
  };

  const schema = routeSchema(operationId, 'GET /readyz', {
    summary: 'Readiness probe',
    answer: ready,
  });
  server.get('/readyz', { schema }, async () => {
    const probes = (await Promise.all(Object.entries(deps.probes).map(failed))).flat();
    const fresh = auth.keyCache.isFresh() || (await auth.keyCache.catchUp());
    const away = [...probes, ...(fresh ? [] : ['log']), ...(closing.aborted ? ['process: shutting down'] : [])];
    if (away.length > 0) throw new DomainError('unavailable', `not ready: ${partsOnce(away).join(', ')}`);
    return { status: 'ok', ...(await rebuilding()) };
  });
};

/** One page in one encoding. All answers share its bytes. */
interface Representation {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

interface PreparedPage {
  readonly plain: Representation;
  readonly compressed: Representation;
}

/** Caches must revalidate: after a deployment the same address may serve another version. */
const CACHE_CONTROL = 'no-cache';
const compress = promisify(gzip);

const representation = (bytes: Buffer, type: string, encoding?: string): Representation => ({
  bytes,
  headers: {
    'content-type': type,
    etag: `"${hash('sha256', bytes, 'hex').slice(0, 32)}"`,
    'cache-control': CACHE_CONTROL,
    vary: 'Accept-Encoding',
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  },
});

const prepare = async (text: string, type: string): Promise<PreparedPage> => {
  const bytes = Buffer.from(text);
  return {
    plain: representation(bytes, type),
    compressed: representation(await compress(bytes, { level: 9 }), type, 'gzip'),
  };
};

const acceptsGzip = ({ headers }: FastifyRequest): boolean =>
  acceptedIn(headers['accept-encoding']).some((encoding) => encoding === 'gzip' || encoding === 'x-gzip');

const send = (page: PreparedPage, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { bytes, headers } = acceptsGzip(request) ? page.compressed : page.plain;
  reply.headers(headers);
  return isNotModified(request.headers, headers.etag) ? reply.code(304).send() : reply.send(bytes);
};

/**
 * Pages that do not change while the process runs. Making one holds the event loop for up to 50 ms, so all are made once and
 * before the process says that it is ready; without a listener (`inject`) each on its first request.
 */
const preparedPages = (
  { server }: RouteContext,
  type: string,
  { names, textOf }: { readonly names: () => readonly string[]; readonly textOf: (name: string) => string },
) => {
  const pages = new Map<string, Promise<PreparedPage>>();
  const prepared = (name: string): Promise<PreparedPage> => {
    const page = pages.get(name) ?? prepare(textOf(name), type);
    pages.set(name, page);
    return page;
  };
  server.addHook('onListen', async () => {
    for (const name of names()) await prepared(name);
  });
  return async (name: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    send(await prepared(name), request, reply);
};

/** Made once for the document itself and the pages about it. The operations are complete when the service listens. */
const documents = new WeakMap<RouteContext['operations'], ReturnType<typeof openApiDocument>>();
const documentOf = ({ operations, deps }: RouteContext): ReturnType<typeof openApiDocument> => {
  const document = documents.get(operations) ?? openApiDocument(operations, deps.publicUrl);
  documents.set(operations, document);
  return document;
};

/** The OpenAPI document. */
export const openapiRoute = (route: RouteContext): void => {
  const { server, operationId } = route;
  const schema = routeSchema(operationId, 'GET /openapi.json', {
    summary: 'Get the OpenAPI document',
    answer: z.record(z.string(), z.unknown()),
    conditional: true,
  });
  const answer = preparedPages(route, 'application/json; charset=utf-8', {
    names: () => [''],
    textOf: () => JSON.stringify(documentOf(route)),
  });
  server.get('/openapi.json', { schema }, (request, reply) => answer('', request, reply));
};

const HTML = 'text/html; charset=utf-8';
const docsQuery = z.object({
  q: z.string().optional().describe('Words to search for. The first 100 characters count.'),
});

/** The document as pages for people. The first one also answers searches. */
export const docsRoute = (route: RouteContext): void => {
  const { server, operationId } = route;
  let made: ReferencePages | undefined;
  const reference = (): ReferencePages => {
    made ??= referencePages(documentOf(route));
    return made;
  };
  const page = { answer: z.string(), mediaType: 'text/html', conditional: true } as const;
  const answer = preparedPages(route, HTML, {
    names: () => ['', ...reference().names],
    textOf: (name) => (name === '' ? reference().first() : reference().page(name)),
  });
  const summary = 'Read the API reference';
  server.get(
    '/docs',
    { schema: routeSchema(operationId, 'GET /docs', { ...page, summary, query: docsQuery }) },
    async (request, reply) => {
      reply.header('content-security-policy', POLICY);
      const { q } = request.query as { readonly q?: unknown };
      const query = [q].flat()[0];
      if (typeof query !== 'string' || query.trim() === '') return answer('', request, reply);
      return reply.type(HTML).header('cache-control', CACHE_CONTROL).send(reference().search(query));
    },
  );
  const part = { ...page, summary: 'Read one tag of the API reference' };
  server.get('/docs/:page', { schema: routeSchema('docsPart', 'GET /docs/:page', part) }, async (request, reply) => {
    const { page: name } = request.params as { readonly page: string };
    if (!reference().names.includes(name)) throw new DomainError('not_found', 'the API reference has no such page');
    return answer(name, request, reply.header('content-security-policy', POLICY));
  });
};

/** The address printed at start leads to the dashboard. */
export const rootRoute = ({ server, operationId }: RouteContext): void => {
  const schema = routeSchema(operationId, 'GET /', { summary: 'Redirect to the dashboard' });
  server.get('/', { schema }, async (_request, reply) => reply.redirect('/dashboard'));
};

export const getServiceRoute = (route: RouteContext): void => {
  const { deps } = route;
  const health = createServiceHealth(deps.health, deps.context.system);
  defineEndpoint(
    route,
    'GET /v1/service',
    {
      summary: 'Get the health of the service',
      description:
        'Returns the state of each part of the service, and what to do about problems. Only operators can call it: members ' +
        'appointed with `outbox members grant-operator`. It contains no data of organizations. It responds within ' +
        'two seconds: a part that does not answer in time is `unknown`.',
      answer: serviceSchema,
      etag: false,
    },
    () => health(),
  );
};

const submissionSchema = z
  .strictObject({
    object: z.literal('submission'),
    user: z.string().describe('User name to enter. The service ignores it, so any other name works too.'),
    servers: z
      .array(
        z.strictObject({
          host: z.string(),
          port: z.int(),
          tls: z
            .enum(['none', 'starttls', 'implicit'])
            .describe(
              '`starttls` (RFC 3207): the client must start TLS before it sends the password. `implicit` (RFC 8314): TLS from the ' +
                'first byte. `none`: no TLS, and only programs on the machine of the service can sign in.',
            ),
        }),
      )
      .describe('The servers. Empty: this service does not accept mail by SMTP.'),
  })
  .meta({ id: 'Submission' });
export type SerializedSubmission = z.infer<typeof submissionSchema>;

export const getSubmissionRoute = endpoint(
  'GET /v1/submission',
  {
    summary: 'List the SMTP submission servers',
    description:
      'Returns the settings for programs that can only send by SMTP. The password is an API key with `send`; the user name ' +
      'is ignored.',
    answer: submissionSchema,
    etag: false,
  },
  async (_call, { deps: { submissionServers } }) => ({
    object: 'submission',
    user: 'outbox',
    servers: submissionServers.map(({ host, port, tls }) => ({ host, port, tls })),
  }),
);
