import { disableWebhook } from '../../commands/webhook/disable-webhook.ts';
import type { EventStore } from '../../domain/event-store.ts';
import type { System } from '../../domain/system.ts';
import type { ExistingWebhook } from '../../domain/webhook/webhook.ts';
import type { FinishedTry, WebhookDeliveries } from '../../domain/webhook-deliveries.ts';
import { persistently } from '../persistently.ts';

export interface GiveUpEndpoint {
  readonly store: EventStore;
  readonly webhookDeliveries: Pick<WebhookDeliveries, 'failingSince'>;
  readonly system: System;
}

const GONE = 410;
/** How long an endpoint may fail without a success in between (api.md, Webhooks): the waits of one delivery are shorter. */
const FAILING_MS_MAX = 5 * 24 * 3_600_000;

const reasonToGiveUp = async (
  { webhookDeliveries, system }: GiveUpEndpoint,
  { webhookId }: ExistingWebhook,
  { status, state }: FinishedTry,
): Promise<'gone' | 'failing' | null> => {
  if (status === GONE) return 'gone';
  if (state === 'delivered') return null;
  const since = await webhookDeliveries.failingSince(webhookId);
  return since !== null && system.now().getTime() - since.getTime() >= FAILING_MS_MAX ? 'failing' : null;
};

/**
 * Disables an endpoint that a try, which has been recorded, shows to be gone or to have failed for too long.
 * @param eventId of the customer's event that was posted.
 */
export const giveUpEndpoint = async (
  deps: GiveUpEndpoint,
  endpoint: ExistingWebhook,
  { tried, eventId }: { readonly tried: FinishedTry; readonly eventId: string },
): Promise<void> => {
  const { webhookId, organizationId, environment } = endpoint;
  const origin = {
    ...{ actor: 'worker:post-webhooks', organizationId, environment, requestId: null },
    ...{ correlationId: webhookId, causationId: eventId },
  };
  await persistently(deps.system, async () => {
    const reason = await reasonToGiveUp(deps, endpoint, tried);
    if (reason !== null) await disableWebhook(deps, origin, { webhookId, reason });
  });
};
