import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { showWebhook, webhookShape } from '../../schemas/webhook.ts';
import { loadWebhook } from './load-webhook.ts';

export const getWebhookRoute = (route: RouteContext): void => {
  defineEndpoint(
    route,
    'GET /v1/webhooks/:id',
    { summary: 'Read a webhook; never its secret', answer: webhookShape },
    async ({ caller, id, reply }) => {
      const { webhook, revision } = await loadWebhook(route.deps, caller, id);
      setRevision(reply, revision);
      return showWebhook(webhook);
    },
  );
};
