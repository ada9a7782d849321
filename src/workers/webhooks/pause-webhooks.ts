import { internalOrigin, load } from '../../commands/execute.ts';
import { pauseWebhook } from '../../commands/webhook.ts';
import { apiKey, isExpired } from '../../domain/api-key/api-key.ts';
import { allows } from '../../domain/api-key/events.ts';
import { isBounded } from '../../domain/api-key/key-authority.ts';
import type { EventStore, RecordedEvent } from '../../domain/kernel/event-store.ts';
import { apiKeyStream, sendingDomainStream } from '../../domain/kernel/streams.ts';
import { sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { type ExistingWebhook, owningKeyId } from '../../domain/webhook/webhook.ts';
import type { System } from '../../lib/async/async.ts';
import type { Endpoints } from './endpoints.ts';
import type { Reaction } from './record-webhook-deliveries.ts';

/**
 * Pauses webhooks when the bounded key that answers for them ends: it is revoked, deleted or expired, its domain is deleted,
 * or it may no longer manage webhooks. Keys without bounds are left out, so that a rotation by hand loses nothing.
 */
export interface PauseWebhooks {
  readonly store: EventStore;
  readonly system: System;
}

const ACTOR = 'worker:pause-webhooks';

/** Endpoints whose key may have ended with this event. */
const concerned = (event: RecordedEvent, endpoints: Endpoints): readonly ExistingWebhook[] => {
  const { organizationId } = event.metadata;
  const ownedByKeys = () => [...endpoints.of(organizationId)].filter((endpoint) => owningKeyId(endpoint) !== null);
  switch (event.type) {
    case 'KeyRevoked':
    case 'KeyExpired':
    case 'KeyDeleted':
    case 'KeyUpdated': {
      const { keyId } = event.data;
      return ownedByKeys().filter((endpoint) => owningKeyId(endpoint) === keyId);
    }
    case 'DomainDeleted':
      return ownedByKeys();
    // A request may be recorded after its key has ended.
    case 'WebhookRegistered':
    case 'WebhookUpdated':
    case 'WebhookEnabled': {
      const { webhookId } = event.data;
      return ownedByKeys().filter((endpoint) => endpoint.webhookId === webhookId);
    }
    default:
      return [];
  }
};

/** Whether a bounded key no longer has the authority that it registered webhooks with. */
const hasEnded = async ({ store, system }: PauseWebhooks, keyId: string): Promise<boolean> => {
  const { state: key } = await load(store, apiKey, apiKeyStream(keyId));
  if (key.status === 'absent') return false;
  if (!allows(key.permissions, 'manage')) return true;
  if (!isBounded(key)) return false;
  if (key.status !== 'active' || isExpired(key, system.now().toISOString())) return true;
  const { state: domain } = await load(store, sendingDomain, sendingDomainStream(key.domainId));
  return domain.status === 'deleted';
};

export const createPauseWebhooks = (deps: PauseWebhooks): Reaction => {
  const pauseAll = async (keyId: string, theirs: readonly ExistingWebhook[], causeId: string): Promise<void> => {
    if (!(await hasEnded(deps, keyId))) return;
    for (const { webhookId, organizationId, environment } of theirs) {
      const origin = internalOrigin({ actor: ACTOR, organizationId, environment, causeId });
      await pauseWebhook(deps, origin, { webhookId, environment, keyId });
    }
  };

  return async (events, endpoints) => {
    for (const event of events) {
      const byKey = Map.groupBy(concerned(event, endpoints), (endpoint) => owningKeyId(endpoint) ?? '');
      for (const [keyId, theirs] of byKey) await pauseAll(keyId, theirs, event.id);
    }
  };
};
