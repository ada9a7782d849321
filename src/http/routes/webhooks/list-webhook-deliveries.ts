import { z } from 'zod';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { listOf, listShape } from '../../shapes/list-shape.ts';
import { showWebhookDelivery, webhookDeliveryShape } from '../../shapes/webhook-shape.ts';
import { decodeParts, encodeParts, invalidCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { loadWebhook } from './load-webhook.ts';

const LIST = 'webhook-deliveries';
const query = z.strictObject(pageParameters);

const decode = (after: string | undefined): { readonly after?: string } => {
  if (after === undefined) return {};
  const [list, place = ''] = decodeParts(after, 2);
  if (list !== LIST) throw invalidCursor();
  return { after: place };
};

export const listWebhookDeliveriesRoute = (house: House): void => {
  const { deps } = house;
  defineEndpoint(
    house,
    'GET /v1/webhooks/:id/deliveries',
    {
      summary: 'What a webhook was sent, every try of it, newest first',
      query,
      answer: listShape(webhookDeliveryShape),
    },
    async ({ caller, id, query: { limit, after } }) => {
      const place = decode(after);
      await loadWebhook(deps, caller, id);
      const { deliveries, next } = await deps.webhookDeliveries.list({ webhookId: id, limit, ...place });
      return listOf(
        deliveries.map(showWebhookDelivery),
        next !== null,
        next === null ? null : encodeParts([LIST, next]),
      );
    },
  );
};
