import { DomainError } from '../domain-error.ts';
import type { Environment } from '../environment.ts';
import type { WebhookEvent } from '../events.ts';
import { requireOwn } from '../ownership.ts';
import type { ExistingWebhook, Webhook } from './webhook.ts';

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
