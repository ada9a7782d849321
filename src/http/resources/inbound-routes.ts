import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  changeInboundRoute,
  createInboundRoute,
  deleteInboundRoute,
  forwardAddresses,
  loadInboundRoute,
} from '../../commands/inbound/route.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { CONFIRMATION_DAYS } from '../../domain/inbound/forward-link.ts';
import {
  type ExistingInboundRoute,
  inboundRoute,
  isForwardConfirmed,
  ROUTE_ACTIONS,
} from '../../domain/inbound/route.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { inboundRouteStream } from '../../domain/kernel/streams.ts';
import { hasReceivedMail } from '../../domain/webhook/webhook.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../endpoint.ts';
import { idParameter, timeSchema } from '../fields.ts';
import { ifMatch, listEndpoint, readRecent, resourceEndpoint, setRevision, statesOf } from '../reading.ts';
import { loadDomain } from './domains/domains.ts';
import { CONFIRMATIONS_PER_DAY_MAX, mailConfirmation } from './forward-confirmation.ts';
import { bareAddress } from './messages/send-fields.ts';
import { loadWebhook } from './webhooks/webhooks.ts';

const inboundRouteSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('inbound_route'),
    domain_id: z.string(),
    match: z.string(),
    action: z.enum(ROUTE_ACTIONS),
    webhook_id: z.string().nullable().describe('null: all webhooks that subscribe to `inbound.received`.'),
    forward_to: z.string().nullable().describe('Address that mail is forwarded to. null: none, or it was erased.'),
    forward_status: z
      .enum(['pending', 'confirmed'])
      .nullable()
      .describe('`pending`: the address has not confirmed yet, and mail is not forwarded. null: there is no address.'),
    order: z.int(),
    created_at: timeSchema(),
  })
  .meta({ id: 'InboundRoute' });

export type SerializedInboundRoute = z.infer<typeof inboundRouteSchema>;

const forwardStatus = (route: ExistingInboundRoute, address: string | undefined) => {
  if (address === undefined) return null;
  return isForwardConfirmed(route) ? 'confirmed' : 'pending';
};

/** @param address that mail is forwarded to; undefined: none, or it was erased. */
const serializeInboundRoute = (route: ExistingInboundRoute, address: string | undefined): SerializedInboundRoute => ({
  id: route.routeId,
  object: 'inbound_route',
  domain_id: route.domainId,
  match: route.match,
  action: route.action,
  webhook_id: route.webhookId,
  forward_to: address ?? null,
  forward_status: forwardStatus(route, address),
  order: route.order,
  created_at: route.createdAt,
});

/** Routes of a domain are compared one by one with each recipient. More: slower. Fewer: large sites run out of them. */
export const INBOUND_ROUTES_MAX = 100;
/** RFC 5321 §4.5.3.1.1. */
const LOCAL_PART_CHARACTERS_MAX = 64;
const ORDER_MAX = 1_000_000;
/** Characters of a local part (RFC 5321 §4.1.2, RFC 6531 §3.3), with `*`. */
const LOCAL_PART = /^[\p{L}\p{M}\p{N}.!#$%&'*+\-/=?^_`{|}~]+$/u;

const match = z
  .string()
  .min(1)
  .max(LOCAL_PART_CHARACTERS_MAX)
  .refine((text) => LOCAL_PART.test(text), 'must be the part of an address before the @')
  .refine((text) => text.split('*').length <= 2, 'must contain at most one *')
  .describe('Part of the address before the @, in any letter case. One `*` matches any text: `support+*`, `*`.');
const action = z
  .enum(ROUTE_ACTIONS)
  .describe(
    '`webhook`: post `inbound.received` to webhooks. `store`: keep the mail and post it to no webhook. `forward`: keep the mail and send it to `forward_to`. `refuse`: refuse the recipient at SMTP (550).',
  );
const webhookId = z
  .string()
  .nullable()
  .describe(
    'The only webhook that gets the mail, even if it does not subscribe to `inbound.received`. null: all webhooks that subscribe to it. Allowed only with the action `webhook`.',
  );
const order = z
  .int()
  .min(0)
  .max(ORDER_MAX)
  .describe('The first matching route applies. Lower orders are tried first, then older routes.');

const forwardTo = bareAddress.describe(
  'Address that mail is forwarded to, required with the action `forward`. It gets a mail with a link, and mail is forwarded once the link is confirmed. A new address must confirm again.',
);

const body = z.strictObject({
  domain_id: z.string().describe('Domain that receives the mail. You cannot change this later.'),
  match,
  action,
  webhook_id: webhookId.default(null),
  forward_to: forwardTo.optional(),
  order: order.default(0),
});

const changesBody = z.strictObject({
  match: match.optional(),
  action: action.optional(),
  webhook_id: webhookId.optional(),
  forward_to: forwardTo.optional(),
  order: order.optional(),
});

/** @throws {DomainError} `not_found`, `other_organization`, `invalid_request` if it cannot be sent mail. */
const requireReceivingWebhook = async (
  deps: HttpDependencies,
  caller: Caller,
  id: string | null | undefined,
): Promise<void> => {
  if (id === null || id === undefined) return;
  const { webhook } = await loadWebhook(deps, caller, id);
  if (hasReceivedMail(webhook.format)) return;
  const problem = `webhook_id must be a webhook with the format outbox or postmark_inbound: the format ${webhook.format} has no received mail`;
  throw new DomainError('invalid_request', problem, { details: { webhook_id: [problem] } });
};

/** An address that must be asked to confirm. @param address undefined: the request names none. */
const forwardOf = (route: RouteContext, address: string | undefined, request: FastifyRequest) =>
  address === undefined
    ? undefined
    : {
        address,
        askToConfirm: (after: ExistingInboundRoute) => mailConfirmation(route, { route: after, address }, request),
      };

const createInboundRouteRoute = (route: RouteContext): void => {
  const { deps } = route;

  /** Read from the read model: a few routes over the limit, created at the same moment, do no harm. */
  const isFull = async ({ organizationId }: Caller, domainId: string): Promise<boolean> => {
    const by = { organizationId, domainId, limit: INBOUND_ROUTES_MAX, after: null };
    const read = readRecent(deps, ['inbound-routes']).then(() => deps.readModels.inboundRoutes.list(by));
    const counted = await read.catch(() => null);
    return counted !== null && counted.items.length >= INBOUND_ROUTES_MAX;
  };

  defineEndpoint(
    route,
    'POST /v1/inbound-routes',
    {
      summary: 'Create an inbound route',
      description: `Decides what happens to received mail for some addresses of a domain. Mail that no route matches is stored, and posted to all webhooks that subscribe to \`inbound.received\`. A domain has at most ${INBOUND_ROUTES_MAX} routes, shared by both environments.`,
      body,
      examples: {
        'Support mail to all subscribed webhooks': {
          domain_id: 'dom_aaaaaaaaaaaaaaaaaaaaaaaaaa',
          match: 'support+*',
          action: 'webhook',
        },
        'Refuse everything else': {
          domain_id: 'dom_aaaaaaaaaaaaaaaaaaaaaaaaaa',
          match: '*',
          action: 'refuse',
          order: 100,
        },
        'Forward the mail of a person': {
          domain_id: 'dom_aaaaaaaaaaaaaaaaaaaaaaaaaa',
          match: 'ann',
          action: 'forward',
          forward_to: 'ann@example.net',
        },
      },
      answer: inboundRouteSchema,
    },
    async ({
      caller,
      origin,
      body: { domain_id: domainId, webhook_id, forward_to: address, ...asked },
      request,
      reply,
    }) => {
      await loadDomain(deps, caller, domainId);
      await requireReceivingWebhook(deps, caller, webhook_id);
      if (await isFull(caller, domainId)) {
        throw new DomainError(
          'too_many_inbound_routes',
          `a domain has at most ${INBOUND_ROUTES_MAX} inbound routes: delete one that is no longer used`,
        );
      }
      const created = await createInboundRoute(deps.context, origin, {
        ...asked,
        domainId,
        webhookId: webhook_id,
        forward: forwardOf(route, address, request),
      });
      setRevision(reply, created.revision);
      reply.header('location', `/v1/inbound-routes/${created.route.routeId}`);
      return serializeInboundRoute(created.route, address);
    },
  );
};

const listInboundRoutesRoute = listEndpoint(
  'GET /v1/inbound-routes',
  {
    summary: 'List inbound routes',
    of: 'inbound-routes',
    item: inboundRouteSchema,
    filters: { domain_id: idParameter('domain').describe('Only routes of this domain, by id.') },
    takesAt: true,
  },
  async ({ domain_id: domainId = null, ...by }, caller, { deps }) => {
    if (domainId !== null) await loadDomain(deps, caller, domainId);
    const page = await deps.readModels.inboundRoutes.list({ organizationId: caller.organizationId, domainId, ...by });
    const streams = page.items.map(({ routeId }) => inboundRouteStream(routeId));
    const routes = by.withDeleted ? await statesOf(deps.context, inboundRoute, streams) : page.items;
    const addresses = await forwardAddresses(deps.context, routes);
    return { ...page, items: routes.map((route) => serializeInboundRoute(route, addresses.get(route.routeId))) };
  },
);

const getInboundRouteRoute = resourceEndpoint(
  'GET /v1/inbound-routes/:id',
  { summary: 'Get an inbound route', answer: inboundRouteSchema },
  async ({ caller, id, reply }, { deps: { context } }) => {
    const { route, revision } = await loadInboundRoute(context, caller.organizationId, id);
    setRevision(reply, revision);
    return serializeInboundRoute(route, (await forwardAddresses(context, [route])).get(id));
  },
);

const updateInboundRouteRoute = endpoint(
  'PATCH /v1/inbound-routes/:id',
  {
    summary: 'Update an inbound route',
    description:
      'Omitted fields stay unchanged, except that another action drops the webhook or the forwarding address. Mail received before keeps what happened to it.',
    body: changesBody,
    examples: { 'Refuse the mail': { action: 'refuse' } },
    answer: inboundRouteSchema,
  },
  async ({ caller, origin, id, body: asked, request, reply }, context) => {
    const { deps } = context;
    const { known } = await loadInboundRoute(deps.context, caller.organizationId, id);
    const { webhook_id: webhookId, forward_to: address } = asked;
    await requireReceivingWebhook(deps, caller, webhookId);
    const changes = { match: asked.match, action: asked.action, webhookId, order: asked.order };
    const forward = forwardOf(context, address, request);
    const command = { routeId: id, known, changes, forward, ...ifMatch(request) };
    const { route, revision } = await changeInboundRoute(deps.context, origin, command);
    setRevision(reply, revision);
    return serializeInboundRoute(route, (await forwardAddresses(deps.context, [route])).get(id));
  },
);

const deleteInboundRouteRoute = endpoint(
  'DELETE /v1/inbound-routes/:id',
  {
    summary: 'Delete an inbound route',
    description: 'The next matching route applies to later mail. Mail received before is kept.',
  },
  async ({ caller, origin, id, request }, { deps: { context } }) => {
    const { known } = await loadInboundRoute(context, caller.organizationId, id);
    await deleteInboundRoute(context, origin, { routeId: id, known, ...ifMatch(request) });
  },
);

const confirmInboundRouteRoute = endpoint(
  'POST /v1/inbound-routes/:id/confirmations',
  {
    summary: 'Ask the forwarding address to confirm',
    description: `Mails the address in \`forward_to\` another link, which works for ${CONFIRMATION_DAYS} days. Earlier links still work. An address gets at most ${CONFIRMATIONS_PER_DAY_MAX} such mails a day from your organization. If the address has confirmed, nothing is mailed.`,
    answer: inboundRouteSchema,
  },
  async ({ caller, id, request, reply }, route) => {
    const { context } = route.deps;
    const { route: found, revision } = await loadInboundRoute(context, caller.organizationId, id);
    const address = (await forwardAddresses(context, [found])).get(id);
    if (address === undefined)
      throw new DomainError('invalid_request', 'the inbound route forwards mail to no address: set forward_to first');
    if (!isForwardConfirmed(found)) await mailConfirmation(route, { route: found, address }, request);
    setRevision(reply, revision);
    return serializeInboundRoute(found, address);
  },
);

export const INBOUND_ROUTE_ROUTES = {
  createInboundRouteRoute,
  listInboundRoutesRoute,
  getInboundRouteRoute,
  updateInboundRouteRoute,
  deleteInboundRouteRoute,
  confirmInboundRouteRoute,
};
