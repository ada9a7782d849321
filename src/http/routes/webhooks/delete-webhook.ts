import { deleteWebhook } from '../../../commands/webhook/delete-webhook.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { ifMatch } from '../../revisions.ts';
import { loadWebhook } from './load-webhook.ts';

export const deleteWebhookRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'DELETE /v1/webhooks/:id',
    { summary: 'Delete a webhook' },
    async ({ caller, origin, id, request }) => {
      await loadWebhook(deps, caller, id);
      const command = { webhookId: id, environment: caller.environment, ...ifMatch(request) };
      await deleteWebhook(deps.context, origin, command);
    },
  );
};
