import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { carriesContents, recordResend } from '../../../commands/webhook.ts';
import { allows } from '../../../domain/api-key/events.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { CUSTOMER_EVENT_TYPES } from '../../../domain/customer-events/customer-event-types.ts';
import type { CustomerEvent } from '../../../domain/customer-events/customer-events.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import type { WebhookDelivery, WebhookTry } from '../../../domain/ports/webhook-deliveries.ts';
import { POST_HEADERS, REPLAY_HEADER, webhookTimestamp } from '../../../domain/webhook/post.ts';
import {
  type SerializedEvent,
  serializeEvents,
  serializeWithoutContents,
} from '../../../projections/events/serialize-events.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { decodePlace, encodePlace } from '../../lists.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import {
  DELIVERY_STATES,
  HIDDEN,
  type SerializedWebhookDelivery,
  type SerializedWebhookRequest,
  shownWebhookDeliverySchema,
  webhookDeliverySchema,
} from '../../schemas/webhook-delivery.ts';
import { pageParameters } from '../../validation/fields.ts';
import { loadWebhook } from './webhooks.ts';

const serializeRequest = (
  { event, replayId }: WebhookDelivery,
  { at, request }: WebhookTry,
): SerializedWebhookRequest => ({
  url: request.url,
  headers: {
    ...Object.fromEntries(request.headerNames.map((name) => [name, HIDDEN])),
    ...POST_HEADERS,
    'webhook-id': event.id,
    'webhook-timestamp': webhookTimestamp(at),
    ...(replayId === undefined ? {} : { [REPLAY_HEADER]: replayId }),
  },
  body_bytes: request.bodyBytes,
  body_sha256: request.bodySha256,
});

const serializeWebhookDelivery = (
  delivery: WebhookDelivery,
  { data: { recipient } }: SerializedEvent,
): SerializedWebhookDelivery => ({
  id: delivery.id,
  object: 'webhook_delivery',
  webhook_id: delivery.webhookId,
  event_id: delivery.event.id,
  event_type: delivery.event.type,
  recipient: recipient === undefined ? null : { ...recipient },
  replay_id: delivery.replayId ?? null,
  status: delivery.state,
  created_at: delivery.createdAt.toISOString(),
  next_attempt_at: delivery.dueAt?.toISOString() ?? null,
  attempts: delivery.tries.map((tried) => ({
    at: tried.at.toISOString(),
    request: serializeRequest(delivery, tried),
    status: tried.status,
    duration_ms: tried.durationMs,
    response: tried.text,
  })),
});

/** Events with the contents that are still stored, or without contents for a key that lacks `read`. */
const serializeFor = async (
  { context: { contents } }: Pick<HttpDependencies, 'context'>,
  { permissions }: Caller,
  events: readonly CustomerEvent[],
): Promise<readonly SerializedEvent[]> =>
  allows(permissions, 'read') ? serializeEvents(contents, events) : events.map(serializeWithoutContents);

const serializeDeliveries = async (
  deps: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  deliveries: readonly WebhookDelivery[],
): Promise<readonly SerializedWebhookDelivery[]> => {
  const events = await serializeFor(
    deps,
    caller,
    deliveries.map(({ event }) => event),
  );
  return deliveries.map((delivery, index) => serializeWebhookDelivery(delivery, events[index] as SerializedEvent));
};

const listOfWebhook = (id: string): string => `webhook-deliveries/${id}`;

const query = z.strictObject({
  ...pageParameters,
  status: z.enum(DELIVERY_STATES).optional().describe('Deliveries with this status only.'),
  event_type: z.enum(CUSTOMER_EVENT_TYPES).optional().describe('Deliveries of events of this type only.'),
});

export const listWebhookDeliveriesRoute = endpoint(
  'GET /v1/webhooks/:id/deliveries',
  {
    summary: 'List the deliveries of a webhook with all attempts, newest first',
    description:
      'The filters search at most 5,000 deliveries per page, so a page may be empty although `has_more` is true: continue ' +
      'with `next_cursor`.',
    query,
    answer: listSchema(webhookDeliverySchema),
  },
  async ({ caller, id, query: { limit, after, status: state, event_type: type } }, { deps }) => {
    const place = decodePlace(listOfWebhook(id), after);
    await loadWebhook(deps, caller, id);
    const { deliveries, next } = await deps.webhookDeliveries.list({ webhookId: id, limit, ...place, state, type });
    return listOf(
      await serializeDeliveries(deps, caller, deliveries),
      next !== null,
      encodePlace(listOfWebhook(id), next),
    );
  },
);

/** @throws {DomainError} `not_found`, `other_organization`. */
const loadDelivery = async (
  deps: Pick<HttpDependencies, 'context' | 'webhookDeliveries'>,
  caller: Caller,
  { params }: FastifyRequest,
) => {
  const { id, delivery: deliveryId } = params as { readonly id: string; readonly delivery: string }; // of the path
  const { webhook } = await loadWebhook(deps, caller, id);
  const found = isId('dlv', deliveryId) ? await deps.webhookDeliveries.find({ ids: [deliveryId], limit: 1 }) : [];
  const delivery = found.find(({ webhookId }) => webhookId === id);
  if (delivery === undefined) throw new DomainError('not_found', 'delivery of the webhook not found');
  return { webhook, delivery };
};

export const getWebhookDeliveryRoute = endpoint(
  'GET /v1/webhooks/:id/deliveries/:delivery',
  { summary: 'Read a delivery of a webhook with all attempts', answer: shownWebhookDeliverySchema, etag: false },
  async ({ caller, request }, { deps }) => {
    const { webhook, delivery } = await loadDelivery(deps, caller, request);
    const [event] = await serializeFor(deps, caller, [delivery.event]);
    const body = (await carriesContents(deps.context, webhook)) ? event : serializeWithoutContents(delivery.event);
    return { ...serializeWebhookDelivery(delivery, event as SerializedEvent), body: JSON.stringify(body) };
  },
);

export const resendWebhookDeliveryRoute = endpoint(
  'POST /v1/webhooks/:id/deliveries/:delivery/resend',
  {
    summary: 'Post a delivery again now',
    description:
      'Works for delivered, failed and waiting deliveries. The delivery keeps the id of its event and its attempts, and is ' +
      'retried for the rest of its schedule. The request is recorded with its sender.',
    answer: webhookDeliverySchema,
    etag: false,
  },
  async ({ caller, origin, request }, { deps }) => {
    const { delivery } = await loadDelivery(deps, caller, request);
    const { id: deliveryId, webhookId } = delivery;
    await recordResend(deps.context, origin, { webhookId, environment: caller.environment, deliveryId });
    const now = deps.context.system.now();
    await deps.webhookDeliveries.resend(delivery.id, now);
    const [posted] = await serializeDeliveries(deps, caller, [{ ...delivery, state: 'pending', dueAt: now }]);
    return posted;
  },
);
