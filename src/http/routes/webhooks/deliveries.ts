import { z } from 'zod';
import type { WebhookDelivery } from '../../../domain/ports/webhook-deliveries.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { listOf, listSchema, timeSchema } from '../../schemas/envelope.ts';
import { decodePlace, encodePlace } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/fields.ts';
import { loadWebhook } from './webhooks.ts';

const webhookDeliverySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook_delivery'),
    webhook_id: z.string(),
    event_id: z.string(),
    event_type: z.string(),
    status: z.enum(['pending', 'delivered', 'failed']),
    created_at: timeSchema(),
    next_attempt_at: timeSchema().nullable(),
    attempts: z.array(
      z.strictObject({
        at: timeSchema(),
        status: z.number().int().nullable(),
        duration_ms: z.number(),
        response: z.string(),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' });
type SerializedWebhookDelivery = z.infer<typeof webhookDeliverySchema>;

const serializeWebhookDelivery = (delivery: WebhookDelivery): SerializedWebhookDelivery => ({
  id: delivery.id,
  object: 'webhook_delivery',
  webhook_id: delivery.webhookId,
  event_id: delivery.event.id,
  event_type: delivery.event.type,
  status: delivery.state,
  created_at: delivery.createdAt.toISOString(),
  next_attempt_at: delivery.dueAt?.toISOString() ?? null,
  attempts: delivery.tries.map(({ at, status, durationMs, text }) => ({
    at: at.toISOString(),
    status,
    duration_ms: durationMs,
    response: text,
  })),
});

const listOfWebhook = (id: string): string => `webhook-deliveries/${id}`;
const deliveriesQuery = z.strictObject(pageParameters);

export const listWebhookDeliveriesRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/webhooks/:id/deliveries',
    {
      summary: 'List the deliveries of a webhook with all attempts, newest first',
      query: deliveriesQuery,
      answer: listSchema(webhookDeliverySchema),
    },
    async ({ caller, id, query: { limit, after } }) => {
      const place = decodePlace(listOfWebhook(id), after);
      await loadWebhook(deps, caller, id);
      const { deliveries, next } = await deps.webhookDeliveries.list({ webhookId: id, limit, ...place });
      return listOf(deliveries.map(serializeWebhookDelivery), next !== null, encodePlace(listOfWebhook(id), next));
    },
  );
};
