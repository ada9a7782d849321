import { type LoadedStream, load, readWholeStream } from '../../commands/execute.ts';
import { recordResend } from '../../commands/webhook.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { customerEvents } from '../../domain/customer-events/customer-events.ts';
import type { ExistingInbound } from '../../domain/inbound/inbound.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { inboundStream, webhookStream } from '../../domain/kernel/streams.ts';
import { deliveryId, type WebhookDelivery } from '../../domain/ports/webhooks.ts';
import { type Webhook, webhook } from '../../domain/webhook/webhook.ts';
import { endpoint, type RouteContext } from '../endpoint.ts';
import { listOf, listSchema } from '../fields.ts';
import { readRecent } from '../reading.ts';
import { loadVisibleInbound } from './inbound.ts';
import { serializeDeliveries, webhookDeliverySchema } from './webhooks/deliveries.ts';

/** Deliveries of inbound messages to webhooks. */

/** Most organizations have one or two. Of more, the newest are looked up: each is a probe by primary key. */
const ENDPOINTS_MAX = 100;

/** Webhooks that may have got the message. */
const endpointsFor = async (
  { deps }: RouteContext,
  { organizationId, environment }: Caller,
  { action, webhookId }: ExistingInbound,
): Promise<readonly string[]> => {
  if (action !== 'webhook') return [];
  if (webhookId !== null) return [webhookId];
  await readRecent(deps, ['webhooks']);
  const by = { organizationId, environment, limit: ENDPOINTS_MAX, after: null };
  return (await deps.readModels.webhooks.list(by)).items.map((webhook) => webhook.webhookId);
};

/** Deliveries of the event of a message. @throws {DomainError} `not_found`, `other_organization`. */
const deliveriesOf = async (route: RouteContext, caller: Caller, id: string): Promise<readonly WebhookDelivery[]> => {
  const { deps } = route;
  const found = await loadVisibleInbound(deps, caller, id);
  const endpoints = await endpointsFor(route, caller, found);
  const events = (await readWholeStream(deps.context.store, inboundStream(id))).flatMap(customerEvents);
  const ids = events.flatMap((event) => endpoints.map((webhookId) => deliveryId(webhookId, event.id)));
  return deps.readModels.inShareOf(caller.organizationId, () =>
    deps.webhookDeliveries.find({ ids, limit: ENDPOINTS_MAX }),
  );
};

const listInboundDeliveriesRoute = endpoint(
  'GET /v1/inbound/:id/deliveries',
  {
    summary: 'List the deliveries of an inbound message',
    description: `Returns the deliveries of its event \`inbound.received\` with all of their attempts, one for each webhook. Replays have deliveries of their own, which are left out. Deliveries can be missing if a webhook was deleted, or if there are more than ${ENDPOINTS_MAX} webhooks.`,
    answer: listSchema(webhookDeliverySchema),
    etag: false,
  },
  async ({ caller, id }, route) => {
    const deliveries = await deliveriesOf(route, caller, id);
    return listOf(await serializeDeliveries(route.deps, caller, deliveries), false, null);
  },
);

interface EnabledDelivery {
  readonly delivery: WebhookDelivery;
  readonly known: LoadedStream<Webhook>;
}

/** Deliveries of webhooks that are enabled. The others cannot be posted. */
const enabledOf = async (
  { deps: { context } }: RouteContext,
  deliveries: readonly WebhookDelivery[],
): Promise<readonly EnabledDelivery[]> => {
  const loaded = deliveries.map(async (delivery) => {
    const known = await load(context.store, webhook, webhookStream(delivery.webhookId));
    return known.state.status === 'enabled' ? [{ delivery, known }] : [];
  });
  return (await Promise.all(loaded)).flat();
};

const resendInboundRoute = endpoint(
  'POST /v1/inbound/:id/resend',
  {
    summary: 'Resend an inbound message to its webhooks',
    description:
      'Posts the event `inbound.received` again now to the webhooks that got it, as `POST /v1/webhooks/{id}/deliveries/{delivery}/resend` ' +
      'does. The id of the event stays the same. Webhooks that are disabled or paused are left out. A webhook that did not exist when ' +
      'the mail arrived gets it by a replay. An empty list: no webhook got the message. 409: all of them are disabled.',
    answer: listSchema(webhookDeliverySchema),
    etag: false,
  },
  async ({ caller, origin, id }, route) => {
    const { deps } = route;
    const deliveries = await deliveriesOf(route, caller, id);
    const enabled = await enabledOf(route, deliveries);
    if (enabled.length === 0 && deliveries.length > 0)
      throw new DomainError(
        'webhook_disabled',
        'all webhooks that got this inbound message are disabled: enable one first',
      );
    const now = deps.context.system.now();
    const { environment } = caller;
    for (const { delivery, known } of enabled) {
      const { id: deliveryId, webhookId } = delivery;
      await recordResend(deps.context, origin, { webhookId, environment, deliveryId, known });
      await deps.webhookDeliveries.resend(deliveryId, now);
    }
    const posted = enabled.map(({ delivery }) => ({ ...delivery, state: 'pending' as const, dueAt: now }));
    return listOf(await serializeDeliveries(deps, caller, posted), false, null);
  },
);

export const INBOUND_DELIVERY_ROUTES = { listInboundDeliveriesRoute, resendInboundRoute };
