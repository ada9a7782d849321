import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DomainError } from '../../domain/domain-error.ts';
import { recognizeClient } from '../../domain/tracking/client.ts';
import { readClick, readOpen } from '../../domain/tracking/tracking-token.ts';
import type { RouteContext } from '../endpoint.ts';
import { type Described, routeSchema } from '../openapi/operation.ts';
import { sendErrorPage } from '../pages/define-page.ts';
import { methodAndUrl } from '../route-table.ts';

/**
 * Targets of tracked links and images. Both are answered from the URL alone, even if the database is down. The opening
 * or click is recorded afterwards, without the client's address.
 */

/** A transparent pixel (GIF89a). */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
/** Output of `trackedTarget`. Nothing else is ever put into a header. */
const TARGET = /^https?:\/\/[\x21-\x7e]+$/;

const notFound = (): DomainError => new DomainError('not_found', 'there is no such link');

/** The URL is a secret of its recipient, and each request counts: it is not cached, sent as referrer or indexed. */
const uncached = (reply: FastifyReply): FastifyReply =>
  reply
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .header('x-robots-tag', 'noindex, nofollow');

const clientOf = ({ headers, ip, method }: FastifyRequest) =>
  recognizeClient({ userAgent: headers['user-agent'] ?? '', address: ip, isHead: method === 'HEAD' });

/** Facts about an opening or a click that its request shows. */
const engagementOf = ({ deps: { context } }: RouteContext, request: FastifyRequest) => ({
  ...clientOf(request),
  at: context.system.now().toISOString(),
  count: 1,
});

const defineTracked = (
  { server, deps, operationId }: RouteContext,
  name: 'GET /c/:token' | 'GET /o/:token',
  described: Pick<Described, 'summary' | 'description' | 'query' | 'answer' | 'mediaType'>,
  handle: (token: string, request: FastifyRequest, reply: FastifyReply) => FastifyReply,
): void =>
  void server.register(async (scope) => {
    scope.setErrorHandler(sendErrorPage(deps.logger));
    const { url } = methodAndUrl(name);
    // HEAD comes with it. Not async: the answer costs no turn of the event loop.
    scope.get(url, {
      schema: routeSchema(operationId, name, described),
      config: { anonymous: true },
      handler: (request, reply) => {
        const { token = '' } = request.params as { readonly token?: string };
        handle(token, request, reply);
      },
    });
  });

const query = z.object({
  u: z.string().describe('Where the link leads. Only the address that the token was made for.'),
});

export const followLinkRoute = (route: RouteContext): void => {
  const { trackingKeys } = route.deps;
  defineTracked(
    route,
    'GET /c/:token',
    {
      summary: 'Follow a tracked link',
      description:
        'Target of links in mail with `tracking.clicks`. The token is valid only for exactly this address. ' +
        'The sender gets the event `message.clicked`.',
      query,
    },
    (token, request, reply) => {
      const { u } = request.query as { readonly u?: unknown };
      const url = typeof u === 'string' && TARGET.test(u) ? u : '';
      const found = readClick(trackingKeys, token, url);
      if (found === null || url === '') throw notFound();
      const { link, links } = found;
      route.engagements.note(found, { ...engagementOf(route, request), click: { link, links, url } });
      return uncached(reply).code(302).header('location', url).send();
    },
  );
};

export const loadPixelRoute = (route: RouteContext): void => {
  const { trackingKeys } = route.deps;
  defineTracked(
    route,
    'GET /o/:token',
    {
      summary: 'Load the image of a tracked message',
      description:
        'An invisible image in mail with `tracking.opens`. The sender gets the event `message.opened`, which says whether ' +
        'a machine loaded it.',
      answer: z.string(),
      mediaType: 'image/gif',
    },
    (token, request, reply) => {
      const found = readOpen(trackingKeys, token);
      if (found === null) throw notFound();
      route.engagements.note(found, { ...engagementOf(route, request), click: null });
      return uncached(reply).type('image/gif').send(PIXEL);
    },
  );
};
