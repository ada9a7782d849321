import { z } from 'zod';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { showWebhookDelivery, webhookDeliveryShape } from '../../schemas/webhook.ts';
import { decodePlace, encodePlace } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { loadWebhook } from './load-webhook.ts';

const listOfWebhook = (id: string): string => `webhook-deliveries/${id}`;
const query = z.strictObject(pageParameters);

export const listWebhookDeliveriesRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/webhooks/:id/deliveries',
    {
      summary: 'What a webhook was sent, every try of it, newest first',
      query,
      answer: listShape(webhookDeliveryShape),
    },
    async ({ caller, id, query: { limit, after } }) => {
      const place = decodePlace(listOfWebhook(id), after);
      await loadWebhook(deps, caller, id);
      const { deliveries, next } = await deps.webhookDeliveries.list({ webhookId: id, limit, ...place });
      return listOf(deliveries.map(showWebhookDelivery), next !== null, encodePlace(listOfWebhook(id), next));
    },
  );
};
