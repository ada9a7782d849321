import { z } from 'zod';
import {
  changeInboundRoute,
  createInboundRoute,
  deleteInboundRoute,
  loadInboundRoute,
} from '../../commands/inbound/route.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { type ExistingInboundRoute, inboundRoute, ROUTE_ACTIONS } from '../../domain/inbound/route.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { inboundRouteStream } from '../../domain/kernel/streams.ts';
import { hasReceivedMail } from '../../domain/webhook/webhook.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../endpoint.ts';
import { idParameter, timeSchema } from '../fields.ts';
import { ifMatch, listEndpoint, readRecent, resourceEndpoint, setRevision, statesOf } from '../reading.ts';
import { loadDomain } from './domains/domains.ts';
import { loadWebhook } from './webhooks/webhooks.ts';

const inboundRouteSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('inbound_route'),
    domain_id: z.string(),
    match: z.string(),
    action: z.enum(ROUTE_ACTIONS),
    webhook_id: z.string().nullable().describe('null: all webhooks that subscribe to `inbound.received`.'),
    order: z.int(),
    created_at: timeSchema(),
  })
  .meta({ id: 'InboundRoute' });

export type SerializedInboundRoute = z.infer<typeof inboundRouteSchema>;

const serializeInboundRoute = (route: ExistingInboundRoute): SerializedInboundRoute => ({
  id: route.routeId,
  object: 'inbound_route',
  domain_id: route.domainId,
  match: route.match,
  action: route.action,
  webhook_id: route.webhookId,
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
    '`webhook`: post `inbound.received` to webhooks. `store`: keep the mail and post it to no webhook. `refuse`: refuse the recipient at SMTP (550).',
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

const body = z.strictObject({
  domain_id: z.string().describe('Domain that receives the mail. You cannot change this later.'),
  match,
  action,
  webhook_id: webhookId.default(null),
  order: order.default(0),
});

const changesBody = z.strictObject({
  match: match.optional(),
  action: action.optional(),
  webhook_id: webhookId.optional(),
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

export const createInboundRouteRoute = (route: RouteContext): void => {
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
      },
      answer: inboundRouteSchema,
    },
    async ({ caller, origin, body: { domain_id: domainId, webhook_id, ...asked }, reply }) => {
      await loadDomain(deps, caller, domainId);
      await requireReceivingWebhook(deps, caller, webhook_id);
      if (await isFull(caller, domainId)) {
        throw new DomainError(
          'too_many_inbound_routes',
          `a domain has at most ${INBOUND_ROUTES_MAX} inbound routes: delete one that is no longer used`,
        );
      }
      const created = await createInboundRoute(deps.context, origin, { ...asked, domainId, webhookId: webhook_id });
      setRevision(reply, created.revision);
      reply.header('location', `/v1/inbound-routes/${created.route.routeId}`);
      return serializeInboundRoute(created.route);
    },
  );
};

export const listInboundRoutesRoute = listEndpoint(
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
    return { ...page, items: routes.map(serializeInboundRoute) };
  },
);

export const getInboundRouteRoute = resourceEndpoint(
  'GET /v1/inbound-routes/:id',
  { summary: 'Get an inbound route', answer: inboundRouteSchema },
  async ({ caller, id, reply }, { deps: { context } }) => {
    const { route, revision } = await loadInboundRoute(context, caller.organizationId, id);
    setRevision(reply, revision);
    return serializeInboundRoute(route);
  },
);

export const updateInboundRouteRoute = endpoint(
  'PATCH /v1/inbound-routes/:id',
  {
    summary: 'Update an inbound route',
    description:
      'Omitted fields stay unchanged, except that another action than `webhook` drops the webhook. Mail received before keeps what happened to it.',
    body: changesBody,
    examples: { 'Refuse the mail': { action: 'refuse' } },
    answer: inboundRouteSchema,
  },
  async ({ caller, origin, id, body: asked, request, reply }, { deps }) => {
    const { known } = await loadInboundRoute(deps.context, caller.organizationId, id);
    const { webhook_id: webhookId } = asked;
    await requireReceivingWebhook(deps, caller, webhookId);
    const changes = { match: asked.match, action: asked.action, webhookId, order: asked.order };
    const command = { routeId: id, known, changes, ...ifMatch(request) };
    const { route, revision } = await changeInboundRoute(deps.context, origin, command);
    setRevision(reply, revision);
    return serializeInboundRoute(route);
  },
);

export const deleteInboundRouteRoute = endpoint(
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
