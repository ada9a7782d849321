import { type CustomerEvent, customerEvents } from '../../domain/customer-events.ts';
import type { WebhookEvent } from '../../domain/events.ts';
import { categoryOf, type RecordedEvent } from '../../domain/ports/event-store.ts';
import { deliveryId, type OwedDelivery } from '../../domain/ports/webhook-deliveries.ts';
import { type ExistingWebhook, subscribesTo, type Webhook, webhook } from '../../domain/webhook/webhook.ts';

/** In-memory projection of the enabled endpoints of all organizations. */
export interface Endpoints {
  /** Applies an event of the log; other families change nothing. */
  apply(event: RecordedEvent): void;
  enabled(): Iterable<ExistingWebhook>;
  /** Whether this organization has any. */
  hasAny(organizationId: string): boolean;
  get(webhookId: string): ExistingWebhook | undefined;
  /** Endpoints that subscribe to such events. */
  wanting(event: CustomerEvent): readonly ExistingWebhook[];
}

const isWebhookEvent = (event: RecordedEvent): event is RecordedEvent<WebhookEvent> =>
  categoryOf(event.stream) === webhook.category;

/** An event without an environment (a key, a domain) goes to the endpoints of both. */
const isFor = (event: CustomerEvent, endpoint: ExistingWebhook): boolean =>
  (event.environment === null || event.environment === endpoint.environment) &&
  subscribesTo(endpoint.events, event.type);

export const createEndpoints = (): Endpoints => {
  const enabled = new Map<string, ExistingWebhook>();
  const byOrganization = new Map<string, Map<string, ExistingWebhook>>();

  const keep = (endpoint: ExistingWebhook): void => {
    enabled.set(endpoint.webhookId, endpoint);
    const theirs = byOrganization.get(endpoint.organizationId) ?? new Map<string, ExistingWebhook>();
    byOrganization.set(endpoint.organizationId, theirs.set(endpoint.webhookId, endpoint));
  };

  const forget = ({ webhookId, organizationId }: ExistingWebhook): void => {
    enabled.delete(webhookId);
    byOrganization.get(organizationId)?.delete(webhookId);
  };

  return {
    apply: (event) => {
      if (!isWebhookEvent(event)) return;
      const before: Webhook = enabled.get(event.data.webhookId) ?? webhook.initial;
      const after = webhook.evolve(before, event, event.metadata);
      if (after.status === 'absent') return;
      if (after.status === 'enabled') keep(after);
      else forget(after);
    },
    enabled: () => enabled.values(),
    hasAny: (organizationId) => (byOrganization.get(organizationId)?.size ?? 0) > 0,
    get: (webhookId) => enabled.get(webhookId),
    wanting: (event) => {
      const theirs = byOrganization.get(event.organizationId);
      return theirs === undefined ? [] : [...theirs.values()].filter((endpoint) => isFor(event, endpoint));
    },
  };
};

/** The deliveries that events owe to the endpoints as they stand at each event. Applies the events to the endpoints. */
export const owedBy = (endpoints: Endpoints, events: readonly RecordedEvent[]): readonly OwedDelivery[] =>
  events.flatMap((event) => {
    endpoints.apply(event);
    if (!endpoints.hasAny(event.metadata.organizationId)) return [];
    return customerEvents(event).flatMap((customerEvent) =>
      endpoints.wanting(customerEvent).map(({ webhookId }) => ({
        id: deliveryId(webhookId, customerEvent.id),
        webhookId,
        event: customerEvent,
      })),
    );
  });

/** A set of endpoints to claim for, which can be awaited. */
export interface ReadyEndpoints {
  add(webhookIds: Iterable<string>): void;
  /** Empties it. */
  take(): readonly string[];
  /** Resolves when there is something to take. */
  wait(): Promise<void>;
}

export const createReadyEndpoints = (): ReadyEndpoints => {
  const waiting = new Set<string>();
  let filled = Promise.withResolvers<void>();
  return {
    add: (webhookIds) => {
      for (const id of webhookIds) waiting.add(id);
      if (waiting.size > 0) filled.resolve();
    },
    take: () => {
      const taken = [...waiting];
      waiting.clear();
      filled = Promise.withResolvers<void>();
      return taken;
    },
    wait: () => filled.promise,
  };
};
