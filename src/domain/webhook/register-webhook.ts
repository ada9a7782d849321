import { DomainError } from '../domain-error.ts';
import type { Environment } from '../environment.ts';
import type { WebhookEvent } from '../events.ts';
import type { Webhook } from './webhook.ts';

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
