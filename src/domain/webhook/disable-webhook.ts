import type { WebhookEvent } from '../events.ts';
import type { Webhook } from './webhook.ts';

/** The receiver said 410, or has failed for too long; an endpoint that is not enabled stays as it is. */
export const disableWebhook = (state: Webhook, reason: 'gone' | 'failing'): readonly WebhookEvent[] =>
  state.status === 'enabled' ? [{ type: 'WebhookDisabled', data: { webhookId: state.webhookId, reason } }] : [];
