import { deleteWebhook } from '../../../commands/webhook/delete-webhook.ts';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { requireMatch } from '../../revisions.ts';
import { loadWebhook } from './load-webhook.ts';

export const deleteWebhookRoute = (house: House): void => {
  const { deps } = house;
  defineEndpoint(
    house,
    'DELETE /v1/webhooks/:id',
    { summary: 'Delete a webhook' },
    async ({ caller, origin, id, request }) => {
      const known = await loadWebhook(deps, caller, id);
      await requireMatch(request, async () => known.revision);
      await deleteWebhook(deps.context, origin, { webhookId: id, environment: caller.environment });
    },
  );
};
