import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/kernel/errors.ts';
import { acceptedIn } from '../accept.ts';
import type { RouteContext } from '../endpoint.ts';
import { type Asset, type Dashboard, readDashboard } from './assets.ts';

/**
 * Serves the dashboard: one page for all of its screens, and its files. Both are the same for everybody; what a screen
 * shows comes from `/v1` alone. If it cannot be bundled, only these routes fail.
 */

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Browsers must revalidate: after a deployment the same address may serve another version. */
const PAGE_CACHING = 'no-cache';
/** A year. Names change with the contents. */
const ASSET_CACHING = 'public, max-age=31536000, immutable';

/** @throws {DomainError} `unavailable`: it cannot be bundled. */
const load = async ({ deps: { logger } }: RouteContext): Promise<Dashboard> => {
  try {
    return await readDashboard();
  } catch (error) {
    logger.error({ err: error }, 'the dashboard cannot be bundled; the API is not affected');
    throw new DomainError('unavailable', 'the dashboard cannot be shown: the log of the service says why');
  }
};

/** RFC 9110 §13.1.2: the comparison is weak. */
const isKnown = ({ headers }: FastifyRequest, etag: string): boolean =>
  (headers['if-none-match'] ?? '').split(',').some((one) => ['*', etag].includes(one.trim().replace(/^W\//, '')));

const send = async (
  { type, etag, variants }: Asset,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const accepted = acceptedIn(request.headers['accept-encoding']);
  const variant = variants.find(({ encoding }) => encoding === undefined || accepted.includes(encoding));
  reply.headers({ 'content-type': type, etag, vary: 'Accept-Encoding' });
  if (isKnown(request, etag)) return reply.code(304).send();
  if (variant?.encoding !== undefined) reply.header('content-encoding', variant.encoding);
  return reply.send(await variant?.bytes());
};

/** Every screen is the same page, which reads the path itself. */
export const dashboardRoute = (route: RouteContext): void => {
  const { server } = route;
  // Not awaited: what waits for the service to listen does not wait for this.
  server.addHook('onListen', async () => {
    load(route).catch(() => undefined); // logged; the next request tries again
  });
  const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { page } = await load(route);
    reply.headers({
      'cache-control': PAGE_CACHING,
      'content-security-policy': POLICY,
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
    });
    return send(page, request, reply);
  };
  server.get('/dashboard', show);
  server.get('/dashboard/:screen', show);
  server.get('/dashboard/:screen/:id', show);
};

export const dashboardAssetRoute = (route: RouteContext): void => {
  route.server.get('/dashboard/assets/:name', async (request, reply) => {
    const { name = '' } = request.params as { readonly name?: string };
    const asset = (await load(route)).assets.get(name);
    if (asset === undefined) throw new DomainError('not_found', 'this file of the dashboard does not exist');
    return send(asset, request, reply.header('cache-control', ASSET_CACHING));
  });
};
