import { type CustomerEvent, customerEvents } from '../../domain/customer-events.ts';
import type { WebhookEvent } from '../../domain/events.ts';
import { categoryOf, type RecordedEvent } from '../../domain/ports/event-store.ts';
import { deliveryId, type OwedDelivery } from '../../domain/ports/webhook-deliveries.ts';
import { type ExistingWebhook, type Webhook, wants, webhook } from '../../domain/webhook/webhook.ts';

/** The enabled endpoints of everybody, as of some position of the log. */
export interface Endpoints {
  /** Takes the next event of the log; those of other families change nothing. */
  apply(event: RecordedEvent): void;
  enabled(): Iterable<ExistingWebhook>;
  /** Whether this organization has any at all. */
  hasAny(organizationId: string): boolean;
  get(webhookId: string): ExistingWebhook | undefined;
  /** Those that asked for such events. */
  wanting(event: CustomerEvent): readonly ExistingWebhook[];
}

const isWebhookEvent = (event: RecordedEvent): event is RecordedEvent<WebhookEvent> =>
  categoryOf(event.stream) === webhook.category;

/** An event of no environment (a key, a domain) goes to the endpoints of both. */
const isFor = (event: CustomerEvent, endpoint: ExistingWebhook): boolean =>
  (event.environment === null || event.environment === endpoint.environment) && wants(endpoint.events, event.type);

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

/** What events of the log owe to the endpoints as they stand when each happens; moves the endpoints along. */
export const owedBy = (endpoints: Endpoints, events: readonly RecordedEvent[]): readonly OwedDelivery[] =>
  events.flatMap((event) => {
    endpoints.apply(event);
    if (!endpoints.hasAny(event.metadata.organizationId)) return [];
    return customerEvents(event).flatMap((customerEvent) =>
      endpoints.wanting(customerEvent).map(({ webhookId }) => ({
        ...{ id: deliveryId(webhookId, customerEvent.id), webhookId, event: customerEvent },
      })),
    );
  });
