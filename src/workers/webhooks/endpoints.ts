import { type CustomerEvent, customerEvents } from '../../domain/customer-events.ts';
import { domainOf } from '../../domain/email-address.ts';
import type { WebhookEvent } from '../../domain/events.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import { categoryOf, type RecordedEvent } from '../../domain/ports/event-store.ts';
import { deliveryId, type OwedDelivery } from '../../domain/ports/webhook-deliveries.ts';
import type { WebhookFilters } from '../../domain/webhook/events.ts';
import { type ExistingWebhook, PING, subscribesTo, type Webhook, webhook } from '../../domain/webhook/webhook.ts';
import type { LoadedContents } from '../../projections/events/serialize-events.ts';
import type { FormerSecrets } from './destroy-secrets.ts';

/** In-memory projection of the endpoints of all organizations. What it gives are the enabled ones. */
export interface Endpoints {
  /** Applies an event of the log; other families change nothing. */
  apply(event: RecordedEvent): void;
  enabled(): Iterable<ExistingWebhook>;
  /** Whether this organization has any. */
  hasAny(organizationId: string): boolean;
  get(webhookId: string): ExistingWebhook | undefined;
  /** Endpoints that subscribe to such events, whatever they filter by. */
  wanting(event: CustomerEvent): readonly ExistingWebhook[];
}

const isWebhookEvent = (event: RecordedEvent): event is RecordedEvent<WebhookEvent> =>
  categoryOf(event.stream) === webhook.category;

/** An event without an environment (a key, a domain) goes to the endpoints of both. */
const isFor = (event: CustomerEvent, endpoint: ExistingWebhook): boolean =>
  (event.environment === null || event.environment === endpoint.environment) &&
  (event.type === PING ? event.subjectId === endpoint.webhookId : subscribesTo(endpoint.events, event.type));

const isFiltering = ({ filters }: ExistingWebhook): boolean => filters.domains.length > 0 || filters.tags.length > 0;

const isOfDomain = (event: CustomerEvent, names: readonly string[], domains: WebhookFilters['domains']): boolean =>
  domains.some(({ id, name }) => id === event.subjectId || names.includes(name));

/**
 * Whether the filters of an endpoint let an event through. Of a message they need what the vault keeps of it: once that is
 * erased they match nothing.
 */
const passes = (event: CustomerEvent, { filters }: ExistingWebhook, contents: LoadedContents): boolean => {
  if (event.type === PING) return true;
  const stored = event.contentId === null ? undefined : contents.get(event.contentId);
  const head = stored?.kind === 'message' ? stored : null;
  const names = head === null ? [] : [domainOf(head.from.address)];
  const hasTag = head?.tags.some(({ name, value }) => filters.tags.includes(`${name}:${value}`)) ?? false;
  return (
    (filters.domains.length === 0 || isOfDomain(event, names, filters.domains)) && (filters.tags.length === 0 || hasTag)
  );
};

/** @param changed called with what each event made of a webhook. */
export const createEndpoints = (changed?: FormerSecrets['apply']): Endpoints => {
  const enabled = new Map<string, ExistingWebhook>();
  /** They can be enabled again. */
  const disabled = new Map<string, ExistingWebhook>();
  const byOrganization = new Map<string, Map<string, ExistingWebhook>>();

  const keep = (endpoint: ExistingWebhook): void => {
    disabled.delete(endpoint.webhookId);
    enabled.set(endpoint.webhookId, endpoint);
    const theirs = byOrganization.get(endpoint.organizationId) ?? new Map<string, ExistingWebhook>();
    byOrganization.set(endpoint.organizationId, theirs.set(endpoint.webhookId, endpoint));
  };

  const remove = (endpoint: ExistingWebhook): void => {
    const { webhookId, organizationId, status } = endpoint;
    if (status === 'disabled') disabled.set(webhookId, endpoint);
    else disabled.delete(webhookId);
    enabled.delete(webhookId);
    byOrganization.get(organizationId)?.delete(webhookId);
  };

  return {
    apply: (event) => {
      if (!isWebhookEvent(event)) return;
      const { webhookId } = event.data;
      const before: Webhook = enabled.get(webhookId) ?? disabled.get(webhookId) ?? webhook.initial;
      const after = webhook.evolve(before, event, event.metadata);
      if (after.status === 'absent') return;
      changed?.(before, after, event.metadata.occurredAt);
      if (after.status === 'enabled') keep(after);
      else remove(after);
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

interface Wanted {
  readonly event: CustomerEvent;
  readonly endpoint: ExistingWebhook;
}

const wantedBy = (endpoints: Endpoints, events: readonly RecordedEvent[]): readonly Wanted[] =>
  events.flatMap((event) => {
    endpoints.apply(event);
    if (!endpoints.hasAny(event.metadata.organizationId)) return [];
    return customerEvents(event).flatMap((customerEvent) =>
      endpoints.wanting(customerEvent).map((endpoint) => ({ event: customerEvent, endpoint })),
    );
  });

/** Those that the filters of their endpoints let through. */
export const passing = async (
  contents: Pick<Contents, 'heads'>,
  wanted: readonly Wanted[],
): Promise<readonly Wanted[]> => {
  const filtered = wanted.filter(({ endpoint }) => isFiltering(endpoint));
  const ids = filtered.flatMap(({ event: { contentId, type } }) =>
    contentId !== null && type.startsWith('message.') ? [contentId] : [],
  );
  const loaded: LoadedContents = ids.length === 0 ? new Map() : await contents.heads([...new Set(ids)]);
  return wanted.filter(({ event, endpoint }) => !isFiltering(endpoint) || passes(event, endpoint, loaded));
};

/** The deliveries that events owe to the endpoints as they stand at each event. Applies the events to the endpoints. */
export const owedBy = async (
  contents: Pick<Contents, 'heads'>,
  endpoints: Endpoints,
  events: readonly RecordedEvent[],
): Promise<readonly OwedDelivery[]> => {
  const owed = await passing(contents, wantedBy(endpoints, events));
  return owed.map(({ event, endpoint: { webhookId } }) => ({ id: deliveryId(webhookId, event.id), webhookId, event }));
};

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
