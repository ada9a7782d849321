import { retry } from '../../async/retry.ts';
import { disableWebhook } from '../../commands/webhook.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import type { FinishedTry, WebhookDeliveries } from '../../domain/ports/webhook-deliveries.ts';
import type { ExistingWebhook } from '../../domain/webhook/webhook.ts';
import { putLast } from '../delivery/put-last.ts';
import { GONE } from './post-webhook.ts';

/** So often is it asked for how long an endpoint has been failing: each post that fails would be a query. */
const LOOK_EVERY_MS = 60_000;
/** About 1 MB. An endpoint that is forgotten is asked about at its next failure. */
const ENDPOINTS_MAX = 10_000;

export interface GiveUpEndpoint {
  readonly store: EventStore;
  readonly webhookDeliveries: Pick<WebhookDeliveries, 'failingSince'>;
  readonly system: System;
}

/** How long an endpoint may fail without a success in between (api.md, Webhooks): the waits of one delivery are shorter. */
const FAILING_MS_MAX = 5 * 24 * 3_600_000;

const reasonToGiveUp = async (
  { webhookDeliveries, system }: GiveUpEndpoint,
  { webhookId }: ExistingWebhook,
  { status, isTime }: { readonly status: FinishedTry['status']; readonly isTime: boolean },
): Promise<'gone' | 'failing' | null> => {
  if (status === GONE) return 'gone';
  if (!isTime) return null;
  const since = await webhookDeliveries.failingSince(webhookId);
  return since !== null && system.now().getTime() - since.getTime() >= FAILING_MS_MAX ? 'failing' : null;
};

/** By the wall clock, as the time for which an endpoint may fail. */
const createLooks = ({ system }: Pick<GiveUpEndpoint, 'system'>) => {
  const lookedMs = new Map<string, number>();
  return {
    isTime: (webhookId: string): boolean => {
      const nowMs = system.now().getTime();
      if (nowMs - (lookedMs.get(webhookId) ?? Number.NEGATIVE_INFINITY) < LOOK_EVERY_MS) return false;
      putLast(lookedMs, webhookId, nowMs, ENDPOINTS_MAX);
      return true;
    },
  };
};

/** Disables an endpoint that a try, which has been recorded, shows to be gone or to have failed for too long. */
export const createGiveUpEndpoint = (deps: GiveUpEndpoint) => {
  const looks = createLooks(deps);

  /** @param eventId of the customer's event that was posted. */
  return async (
    endpoint: ExistingWebhook,
    { tried: { status, state }, eventId }: { readonly tried: FinishedTry; readonly eventId: string },
  ): Promise<void> => {
    const { webhookId, organizationId, environment } = endpoint;
    if (state === 'delivered') return;
    const isTime = looks.isTime(webhookId);
    if (!isTime && status !== GONE) return;
    const origin = {
      ...{ actor: 'worker:post-webhooks', organizationId, environment, requestId: null },
      ...{ correlationId: webhookId, causationId: eventId },
    };
    await retry(deps.system, async () => {
      const reason = await reasonToGiveUp(deps, endpoint, { status, isTime });
      if (reason !== null) await disableWebhook(deps, origin, { webhookId, reason });
    });
  };
};
