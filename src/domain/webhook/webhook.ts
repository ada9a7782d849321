import { type Aggregate, requireOwn } from '../aggregate.ts';
import { DomainError } from '../domain-error.ts';
import type { Environment } from '../environment.ts';
import type { WebhookEvent } from '../events.ts';
import { CATEGORIES } from '../streams.ts';

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

/** Whether an endpoint that asked for these types or families gets an event of this type. */
export const subscribesTo = (events: readonly string[], type: string): boolean =>
  events.some((wanted) => wanted === type || (wanted.endsWith('.*') && type.startsWith(wanted.slice(0, -1))));

export const webhook: Aggregate<Webhook, WebhookEvent> = {
  category: CATEGORIES.webhook,
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

export interface RegisterWebhook {
  readonly webhookId: string;
  readonly environment: Environment;
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string | null;
  readonly secretId: string;
}

export const registerWebhook = (state: Webhook, command: RegisterWebhook): readonly WebhookEvent[] => {
  if (state.status !== 'absent') throw new DomainError('resource_conflict', 'webhook exists already');
  return [{ type: 'WebhookRegistered', data: { ...command, events: [...command.events] } }];
};

/** The receiver said 410, or has failed for too long; an endpoint that is not enabled stays as it is. */
export const disableWebhook = (state: Webhook, reason: 'gone' | 'failing'): readonly WebhookEvent[] =>
  state.status === 'enabled' ? [{ type: 'WebhookDisabled', data: { webhookId: state.webhookId, reason } }] : [];

/** The endpoint, if it is the caller's, of the caller's environment, and not deleted. @throws {DomainError} */
export const requireWebhook = (
  state: Webhook,
  by: { readonly organizationId: string; readonly environment: Environment },
): ExistingWebhook => {
  const existing = requireOwn(state, by.organizationId, 'webhook');
  if (existing.status === 'deleted' || existing.environment !== by.environment) {
    throw new DomainError('not_found', 'webhook not found');
  }
  return existing;
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const deleteWebhook = (
  state: Webhook,
  by: { readonly organizationId: string; readonly environment: Environment },
): readonly WebhookEvent[] => [{ type: 'WebhookDeleted', data: { webhookId: requireWebhook(state, by).webhookId } }];
