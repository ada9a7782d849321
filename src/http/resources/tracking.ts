import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { readStream } from '../../commands/foreign-events.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import {
  type Owner,
  readClick,
  readOpen,
  recognizeClient,
  type TrackedRecipient,
} from '../../domain/tracking/tracking.ts';
import { createSemaphore, withTimeout } from '../../lib/async/async.ts';
import { type RouteContext, type RouteDescription, routeSchema } from '../endpoint.ts';
import type { EngagementRecorder } from '../engagement-recorder.ts';
import { sendErrorPage } from '../pages/page.ts';
import { methodAndUrl } from '../route-table.ts';

/**
 * Tracked links and images. Both are answered from the URL and from memory, even when the log and the database are down.
 * Opens and clicks are recorded afterwards, without the client's address. Links of a suspended organization answer 410,
 * and nothing is recorded.
 *
 * A token of an earlier version names no organization. While any organization is suspended, the log is asked for the
 * owner of the message. If it does not answer in time, the link works.
 */

/** A transparent pixel (GIF89a). */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
/** Output of `trackedTarget`. Nothing else is ever put into a header. */
const TARGET = /^https?:\/\/[\x21-\x7e]+$/;

/** More wait for the log when old mail is opened by many; fewer let old links of a suspended organization work. */
const LOOK_UPS_MAX = 32;
/** Longer keeps readers waiting, shorter lets old links of a suspended organization work while the log is slow. */
const LOOK_UP_MS_MAX = 1_000;
/** Messages whose organization is remembered, of 200 bytes each. Fewer are read again. */
const OWNERS_MAX = 10_000;

type FindOwner = (messageId: string) => Promise<string | null>;

/** Finds the organization of a message in the log. @returns null: it is not known in time. */
const createFindOwner = ({ context: { store, system } }: RouteContext['deps']): FindOwner => {
  const owners = new LRUCache<string, string>({ max: OWNERS_MAX });
  const lookUps = createSemaphore({ capacity: LOOK_UPS_MAX, waitingMax: 0 });

  const read = async (messageId: string): Promise<string | null> => {
    const [first] = await readStream(store, messageStream(messageId), { limit: 1 });
    if (first === undefined) return null;
    owners.set(messageId, first.metadata.organizationId);
    return first.metadata.organizationId;
  };

  return async (messageId) => {
    const known = owners.get(messageId);
    if (known !== undefined) return known;
    const found = lookUps.run(() => read(messageId));
    return withTimeout({ system, ms: LOOK_UP_MS_MAX }, found).catch(() => null);
  };
};

const notFound = (): DomainError => new DomainError('not_found', 'link not found');

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

type Click = Parameters<EngagementRecorder['note']>[1]['click'];

/** The copy that a token names, and the answer to its request. */
interface Target {
  readonly copy: TrackedRecipient & Owner;
  readonly click: Click;
  answer(reply: FastifyReply): FastifyReply;
}

export const linkSuspended = (): DomainError =>
  new DomainError('link_suspended', 'the sender of this mail is suspended: its links do not work');

/** A promise only where the log has to be asked. */
const isSuspended = (
  { auth: { keyCache } }: RouteContext,
  { organizationId, messageId }: Target['copy'],
  findOwner: FindOwner,
): boolean | Promise<boolean> => {
  if (!keyCache.areAnySuspended()) return false;
  if (organizationId !== null) return keyCache.isSuspended(organizationId);
  return findOwner(messageId).then((owner) => owner !== null && keyCache.isSuspended(owner));
};

/** @param read finds what the request's token leads to. @throws {DomainError} `not_found`. */
const defineTracked = (
  route: RouteContext,
  name: 'GET /c/:token' | 'GET /o/:token',
  described: Pick<RouteDescription, 'summary' | 'description' | 'query' | 'answer' | 'mediaType'>,
  read: (token: string, request: FastifyRequest) => Target,
): void => {
  const { server, deps, operationId } = route;
  const findOwner = createFindOwner(deps);
  void server.register(async (scope) => {
    scope.setErrorHandler(sendErrorPage(deps.logger));
    const { url } = methodAndUrl(name);
    // HEAD comes with it. Not async: an answer from memory costs no turn of the event loop.
    scope.get(url, {
      schema: routeSchema(operationId, name, described),
      config: { anonymous: true },
      handler: (request, reply) => {
        const { token = '' } = request.params as { readonly token?: string };
        const { copy, click, answer } = read(token, request);
        const follow = (suspended: boolean): void => {
          uncached(reply);
          if (suspended) throw linkSuspended();
          route.engagements.note(copy, { ...engagementOf(route, request), click });
          answer(reply);
        };
        const suspended = isSuspended(route, copy, findOwner);
        return typeof suspended === 'boolean' ? follow(suspended) : suspended.then(follow);
      },
    });
  });
};

const query = z.object({
  u: z.string().describe('Target of the link. The token is valid for this address only.'),
});

export const followLinkRoute = (route: RouteContext): void => {
  const { trackingKeys } = route.deps;
  defineTracked(
    route,
    'GET /c/:token',
    {
      summary: 'Follow a tracked link',
      description:
        'Redirects to the target of a link in mail with `tracking.clicks`. The sender gets the event `message.clicked`. ' +
        '410: the sender is suspended.',
      query,
    },
    (token, request) => {
      const { u } = request.query as { readonly u?: unknown };
      const url = typeof u === 'string' && TARGET.test(u) ? u : '';
      const copy = readClick(trackingKeys, token, url);
      if (copy === null || url === '') throw notFound();
      const { link, links } = copy;
      return { copy, click: { link, links, url }, answer: (reply) => reply.code(302).header('location', url).send() };
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
        'Returns the invisible image in mail with `tracking.opens`. The sender gets the event `message.opened`, which says ' +
        'whether a machine loaded the image. 410: the sender is suspended.',
      answer: z.string(),
      mediaType: 'image/gif',
    },
    (token) => {
      const copy = readOpen(trackingKeys, token);
      if (copy === null) throw notFound();
      return { copy, click: null, answer: (reply) => reply.type('image/gif').send(PIXEL) };
    },
  );
};
