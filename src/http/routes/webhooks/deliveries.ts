import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { CUSTOMER_EVENT_TYPES } from '../../../domain/customer-event-types.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { isId } from '../../../domain/ids.ts';
import type { WebhookDelivery, WebhookTry } from '../../../domain/ports/webhook-deliveries.ts';
import { POST_HEADERS, REPLAY_HEADER, webhookTimestamp } from '../../../domain/webhook/post.ts';
import { requireEnabled } from '../../../domain/webhook/webhook.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { decodePlace, encodePlace } from '../../lists.ts';
import { listOf, listSchema, timeSchema } from '../../schemas/envelope.ts';
import { pageParameters } from '../../validation/fields.ts';
import { loadWebhook } from './webhooks.ts';

const HIDDEN = '[hidden]';
const STATES = ['pending', 'delivered', 'failed'] as const;

const requestSchema = z.strictObject({
  url: z.string(),
  headers: z
    .record(z.string(), z.string())
    .describe(`Without the signature; values of custom headers are \`${HIDDEN}\`.`),
  body_bytes: z.number().int(),
  body_sha256: z.string().describe('SHA-256 of the body, in hex: the event as it was at that time.'),
});

const webhookDeliverySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook_delivery'),
    webhook_id: z.string(),
    event_id: z.string(),
    event_type: z.string(),
    replay_id: z.string().nullable().describe('The replay that it is part of; null: none.'),
    status: z.enum(STATES),
    created_at: timeSchema(),
    next_attempt_at: timeSchema().nullable(),
    attempts: z.array(
      z.strictObject({
        at: timeSchema(),
        request: requestSchema,
        status: z.number().int().nullable().describe('Status of the answer; null: there was none.'),
        duration_ms: z.number(),
        response: z.string().describe('The first 1 kB of the answer, or why there was none.'),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' });
type SerializedWebhookDelivery = z.infer<typeof webhookDeliverySchema>;

const serializeRequest = (
  { event, replayId }: WebhookDelivery,
  { at, request }: WebhookTry,
): z.infer<typeof requestSchema> => ({
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

const serializeWebhookDelivery = (delivery: WebhookDelivery): SerializedWebhookDelivery => ({
  id: delivery.id,
  object: 'webhook_delivery',
  webhook_id: delivery.webhookId,
  event_id: delivery.event.id,
  event_type: delivery.event.type,
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

const listOfWebhook = (id: string): string => `webhook-deliveries/${id}`;

const query = z.strictObject({
  ...pageParameters,
  status: z.enum(STATES).optional().describe('Deliveries with this status only.'),
  event_type: z.enum(CUSTOMER_EVENT_TYPES).optional().describe('Deliveries of events of this type only.'),
});

export const listWebhookDeliveriesRoute = endpoint(
  'GET /v1/webhooks/:id/deliveries',
  {
    summary: 'List the deliveries of a webhook with all attempts, newest first',
    description:
      'The filters look through at most 5,000 deliveries a page, so a page may be empty although `has_more` is true: go on ' +
      'with `next_cursor`.',
    query,
    answer: listSchema(webhookDeliverySchema),
  },
  async ({ caller, id, query: { limit, after, status: state, event_type: type } }, { deps }) => {
    const place = decodePlace(listOfWebhook(id), after);
    await loadWebhook(deps, caller, id);
    const { deliveries, next } = await deps.webhookDeliveries.list({ webhookId: id, limit, ...place, state, type });
    return listOf(deliveries.map(serializeWebhookDelivery), next !== null, encodePlace(listOfWebhook(id), next));
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
  { summary: 'Read a delivery of a webhook with all attempts', answer: webhookDeliverySchema, etag: false },
  async ({ caller, request }, route) =>
    serializeWebhookDelivery((await loadDelivery(route.deps, caller, request)).delivery),
);

export const resendWebhookDeliveryRoute = endpoint(
  'POST /v1/webhooks/:id/deliveries/:delivery/resend',
  {
    summary: 'Post a delivery again now',
    description:
      'Whether it was delivered, has failed or waits. It keeps the id of its event and its attempts. It is retried as ' +
      'often as is left of the schedule.',
    answer: webhookDeliverySchema,
    etag: false,
  },
  async (
    { caller, request },
    {
      deps,
      deps: {
        context: { system },
      },
    },
  ) => {
    const { webhook, delivery } = await loadDelivery(deps, caller, request);
    requireEnabled(webhook, caller);
    const now = system.now();
    await deps.webhookDeliveries.resend(delivery.id, now);
    return serializeWebhookDelivery({ ...delivery, state: 'pending', dueAt: now });
  },
);
