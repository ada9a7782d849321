import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CustomerEvent, customerEvents } from '../../domain/customer-events/customer-events.ts';
import { categoryOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { WebhookEvent } from '../../domain/kernel/events.ts';
import type { Contents, LoadedContents } from '../../domain/ports/contents.ts';
import { deliveryId, type OwedDelivery, type OwedEvents } from '../../domain/ports/webhooks.ts';
import type { WebhookFilters } from '../../domain/webhook/events.ts';
import { type ExistingWebhook, PING, subscribesTo, type Webhook, webhook } from '../../domain/webhook/webhook.ts';
import { domainOf } from '../../lib/mime/mime.ts';
import type { FormerSecrets } from './destroy-secrets.ts';

/** In-memory projection of the endpoints of all organizations. Paused ones are owed events, and get nothing. */
export interface Endpoints {
  /** Applies an event of the log; other families change nothing. */
  apply(event: RecordedEvent): void;
  enabled(): Iterable<ExistingWebhook>;
  /** Whether this organization has any that are owed events. */
  hasAny(organizationId: string): boolean;
  get(webhookId: string): ExistingWebhook | undefined;
  /** Endpoints of an organization that are owed events: enabled or paused. */
  of(organizationId: string): Iterable<ExistingWebhook>;
  /** Endpoints that subscribe to such events, regardless of their filters. */
  wanting(event: CustomerEvent): readonly ExistingWebhook[];
}

const isWebhookEvent = (event: RecordedEvent): event is RecordedEvent<WebhookEvent> =>
  categoryOf(event.stream) === webhook.category;

/** The endpoint gets the event even without a subscription: a ping, or mail whose route names it. */
const isNamed = ({ type, subjectId, facts }: CustomerEvent, { webhookId }: ExistingWebhook): boolean =>
  type === PING ? subjectId === webhookId : facts.inbound?.webhookId === webhookId;

/** An event without an environment (a key, a domain) goes to the endpoints of both. */
const isFor = (event: CustomerEvent, endpoint: ExistingWebhook): boolean =>
  (event.environment === null || event.environment === endpoint.environment) &&
  (isNamed(event, endpoint) || subscribesTo(endpoint.events, event.type));

const isFiltering = ({ filters }: ExistingWebhook): boolean => filters.domains.length > 0 || filters.tags.length > 0;

const isOfDomain = (
  { subjectId, facts: { inbound, forward } }: CustomerEvent,
  names: readonly string[],
  domains: WebhookFilters['domains'],
): boolean => {
  const ids = [subjectId, inbound?.domainId, forward?.domainId];
  return domains.some(({ id, name }) => ids.includes(id) || names.includes(name));
};

/** False for an endpoint that does not get a mail because of its route. */
const isRouted = ({ facts: { inbound } }: CustomerEvent, { webhookId }: ExistingWebhook): boolean =>
  inbound === undefined ||
  (inbound.action === 'webhook' && (inbound.webhookId === null || inbound.webhookId === webhookId));

/**
 * Whether the filters of an endpoint let an event through. Of a message they need what the vault keeps of it: once that is
 * erased they match nothing.
 */
const passes = (event: CustomerEvent, endpoint: ExistingWebhook, contents: LoadedContents): boolean => {
  if (isNamed(event, endpoint)) return true;
  const { filters } = endpoint;
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
  /** Disabled and paused: they can be enabled again. */
  const waiting = new Map<string, ExistingWebhook>();
  const byOrganization = new Map<string, Map<string, ExistingWebhook>>();

  const keepIn = (all: Map<string, ExistingWebhook>, endpoint: ExistingWebhook, isKept: boolean): void => {
    if (isKept) all.set(endpoint.webhookId, endpoint);
    else all.delete(endpoint.webhookId);
  };

  const keep = (endpoint: ExistingWebhook): void => {
    const { organizationId, status } = endpoint;
    keepIn(enabled, endpoint, status === 'enabled');
    keepIn(waiting, endpoint, status === 'disabled' || status === 'paused');
    const theirs = byOrganization.get(organizationId) ?? new Map<string, ExistingWebhook>();
    byOrganization.set(organizationId, theirs);
    keepIn(theirs, endpoint, status === 'enabled' || status === 'paused');
  };

  return {
    apply: (event) => {
      if (!isWebhookEvent(event)) return;
      const { webhookId } = event.data;
      const before: Webhook = enabled.get(webhookId) ?? waiting.get(webhookId) ?? webhook.initial;
      const after = webhook.evolve(before, event, event.metadata);
      if (after.status === 'absent') return;
      changed?.(before, after, event.metadata.occurredAt);
      keep(after);
    },
    enabled: () => enabled.values(),
    hasAny: (organizationId) => (byOrganization.get(organizationId)?.size ?? 0) > 0,
    get: (webhookId) => enabled.get(webhookId),
    of: (organizationId) => byOrganization.get(organizationId)?.values() ?? [],
    wanting: (event) => {
      const theirs = byOrganization.get(event.organizationId);
      return theirs === undefined ? [] : [...theirs.values()].filter((endpoint) => isFor(event, endpoint));
    },
  };
};

interface WantedEvent {
  readonly event: CustomerEvent;
  readonly endpoint: ExistingWebhook;
}

const wantedBy = (endpoints: Endpoints, event: RecordedEvent): readonly WantedEvent[] => {
  endpoints.apply(event);
  if (!endpoints.hasAny(event.metadata.organizationId)) return [];
  return customerEvents(event).flatMap((customerEvent) =>
    endpoints.wanting(customerEvent).map((endpoint) => ({ event: customerEvent, endpoint })),
  );
};

/** Those that the filters of their endpoints and the routes of received mail let through. */
export const passing = async (
  contents: Pick<Contents, 'heads'>,
  wanted: readonly WantedEvent[],
): Promise<readonly WantedEvent[]> => {
  const routed = wanted.filter(({ event, endpoint }) => isRouted(event, endpoint));
  const filtered = routed.filter(({ endpoint }) => isFiltering(endpoint));
  const ids = filtered.flatMap(({ event: { contentId, type } }) =>
    contentId !== null && type.startsWith('message.') ? [contentId] : [],
  );
  const loaded: LoadedContents = ids.length === 0 ? new Map() : await contents.heads([...new Set(ids)]);
  return routed.filter(({ event, endpoint }) => !isFiltering(endpoint) || passes(event, endpoint, loaded));
};

/** Deliveries that a page of the log makes at once, and events whose deliveries are made later. */
export interface OwedPage {
  readonly owed: readonly OwedDelivery[];
  readonly owedLater: readonly OwedEvents[];
}

/**
 * Deliveries that a page makes for one organization at once, unless it has as many events; events beyond are distributed
 * later, organizations in turn. More: a fan-out delays what others are owed. Fewer: small fan-outs take the longer way.
 */
const OWED_AT_ONCE_MAX = 250;
/** Pairs of event and endpoint that are looked at in one turn of the event loop. More hold up everybody, fewer cost turns. */
const PAIRS_PER_TURN = 1_000;
/** Events of one row. More are read again with each part of their deliveries, fewer repeat their endpoints more often. */
const EVENTS_PER_ROW = 50;

/** Gathers events that the same endpoints are owed. */
const createOwedLater = () => {
  const rows: OwedEvents[] = [];
  const open = new Map<string, CustomerEvent[]>();
  return {
    rows,
    add: (event: CustomerEvent, webhookIds: readonly string[]): void => {
      const endpoints = webhookIds.join(' ');
      const events = open.get(endpoints);
      if (events !== undefined && events.length < EVENTS_PER_ROW) {
        events.push(event);
        return;
      }
      const first = [event];
      open.set(endpoints, first);
      rows.push({ organizationId: event.organizationId, events: first, webhookIds });
    },
  };
};

/** Collects the deliveries that events owe to the endpoints as they stand at each event. Applies the events to the endpoints. */
export const owedBy = async (
  contents: Pick<Contents, 'heads'>,
  endpoints: Endpoints,
  events: readonly RecordedEvent[],
): Promise<OwedPage> => {
  const owed: OwedDelivery[] = [];
  const owedLater = createOwedLater();
  /** By organization. */
  const counts = new Map<string, { readonly events: number; readonly deliveries: number }>();

  const addEvent = (event: CustomerEvent, webhookIds: readonly string[]): void => {
    const before = counts.get(event.organizationId) ?? { events: 0, deliveries: 0 };
    const count = { events: before.events + 1, deliveries: before.deliveries + webhookIds.length };
    counts.set(event.organizationId, count);
    if (count.deliveries <= Math.max(OWED_AT_ONCE_MAX, count.events)) {
      for (const webhookId of webhookIds) owed.push(owedDelivery(event, webhookId));
    } else {
      owedLater.add(event, webhookIds);
    }
  };

  const add = (passed: readonly WantedEvent[]): void => {
    for (const [event, theirs] of Map.groupBy(passed, (one) => one.event)) {
      addEvent(
        event,
        theirs.map(({ endpoint: { webhookId } }) => webhookId),
      );
    }
  };

  let wanted: WantedEvent[] = [];
  for (const event of events) {
    for (const one of wantedBy(endpoints, event)) wanted.push(one);
    if (wanted.length < PAIRS_PER_TURN) continue;
    add(await passing(contents, wanted));
    wanted = [];
    await nextTurn();
  }
  add(await passing(contents, wanted));
  return { owed, owedLater: owedLater.rows };
};

export const owedDelivery = (event: CustomerEvent, webhookId: string): OwedDelivery => ({
  id: deliveryId(webhookId, event.id),
  webhookId,
  event,
});

/** An endpoint and the organization whose turn it shares. */
export type ReadyEndpoint = Pick<ExistingWebhook, 'webhookId' | 'organizationId'>;

/** A set of endpoints to claim for, which can be awaited. Organizations take turns. */
export interface ReadyEndpoints {
  add(endpoints: Iterable<ReadyEndpoint>): void;
  /** Removes endpoints of the organizations whose turn it is, those that were added first. */
  take(limits: { readonly total: number; readonly perOrganization: number }): readonly ReadyEndpoint[];
  /** Resolves when there is something to take. */
  wait(): Promise<void>;
}

export const createReadyEndpoints = (): ReadyEndpoints => {
  /** In the order of their turns: a served organization moves to the end. None is empty. */
  const waiting = new Map<string, Map<string, ReadyEndpoint>>();
  let filled = Promise.withResolvers<void>();

  const takeOf = (organizationId: string, limit: number): readonly ReadyEndpoint[] => {
    const theirs = waiting.get(organizationId) ?? new Map<string, ReadyEndpoint>();
    const taken = [...theirs.values().take(limit)];
    for (const { webhookId } of taken) theirs.delete(webhookId);
    waiting.delete(organizationId);
    if (theirs.size > 0) waiting.set(organizationId, theirs);
    return taken;
  };

  return {
    add: (endpoints) => {
      for (const { webhookId, organizationId } of endpoints) {
        const theirs = waiting.get(organizationId) ?? new Map<string, ReadyEndpoint>();
        waiting.set(organizationId, theirs);
        theirs.set(webhookId, { webhookId, organizationId });
      }
      if (waiting.size > 0) filled.resolve();
    },
    take: ({ total, perOrganization }) => {
      const taken: ReadyEndpoint[] = [];
      for (const organizationId of [...waiting.keys()]) {
        if (taken.length === total) break;
        taken.push(...takeOf(organizationId, Math.min(perOrganization, total - taken.length)));
      }
      if (waiting.size === 0) filled = Promise.withResolvers<void>();
      return taken;
    },
    wait: () => filled.promise,
  };
};
