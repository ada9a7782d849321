import type { Aggregate } from '../decider.ts';
import type { Environment } from '../environment.ts';
import type { WebhookEvent } from '../events.ts';
import type { StreamName } from '../ports/event-store.ts';

export interface ExistingWebhook {
  readonly status: 'enabled' | 'disabled' | 'deleted';
  readonly webhookId: string;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string | null;
  readonly secretId: string;
  readonly createdAt: string;
}

export type Webhook = { readonly status: 'absent' } | ExistingWebhook;

export const webhookStream = (webhookId: string): StreamName => `webhook-${webhookId}`;

/** Whether an endpoint that asked for these types or families gets an event of this type. */
export const wants = (events: readonly string[], type: string): boolean =>
  events.some((wanted) => wanted === type || (wanted.endsWith('.*') && type.startsWith(wanted.slice(0, -1))));

export const webhook: Aggregate<Webhook, WebhookEvent> = {
  category: 'webhook',
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt }) => {
    if (event.type === 'WebhookRegistered') {
      return { status: 'enabled', ...event.data, organizationId, createdAt: occurredAt };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'WebhookDisabled':
        return { ...state, status: 'disabled' };
      case 'WebhookDeleted':
        return { ...state, status: 'deleted' };
      default:
        return event satisfies never;
    }
  },
};
