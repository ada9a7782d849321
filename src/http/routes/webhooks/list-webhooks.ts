import { z } from 'zod';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { showWebhook, webhookShape } from '../../schemas/webhook.ts';
import { decodeCursor, encodeCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';

const LIST = 'webhooks';
const query = z.strictObject(pageParameters);

export const listWebhooksRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/webhooks',
    { summary: 'List webhooks, newest first', query, answer: listShape(webhookShape) },
    async ({ caller: { organizationId, environment }, query: { limit, after: cursor } }) => {
      const after = decodeCursor(LIST, cursor);
      await readYourWrites(deps, ['webhooks']);
      const page = await deps.readModels.webhooks.list({ organizationId, environment, limit, after });
      return listOf(page.items.map(showWebhook), page.hasMore, encodeCursor(LIST, page.next));
    },
  );
};
