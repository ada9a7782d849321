import { type ApiKey, apiKey, type ExistingApiKey } from '../domain/api-key/api-key.ts';
import { type EventStore, LOG_START, type RecordedEvent } from '../domain/event-store.ts';
import type { ApiKeyEvent, OrganizationEvent, SendingDomainEvent } from '../domain/events.ts';
import { type Organization, organization } from '../domain/organization/organization.ts';
import { type SendingDomain, sendingDomain } from '../domain/sending-domain/sending-domain.ts';

/** Everything an operator names: small enough to be folded whole, and true whatever state the read models are in. */
export interface Directory {
  readonly organizations: ReadonlyMap<string, Organization>;
  readonly domains: ReadonlyMap<string, SendingDomain>;
  readonly keys: ReadonlyMap<string, ApiKey>;
  /** Who made each key. */
  readonly keyMakers: ReadonlyMap<string, string>;
}

const PAGE = 1000;
const CATEGORIES = [organization.category, sendingDomain.category, apiKey.category];

interface Tables {
  readonly organizations: Map<string, Organization>;
  readonly domains: Map<string, SendingDomain>;
  readonly keys: Map<string, ApiKey>;
  readonly keyMakers: Map<string, string>;
}

const apply = (tables: Tables, event: RecordedEvent): void => {
  const id = event.stream.slice(event.stream.indexOf('-') + 1);
  const { metadata } = event;
  const { organizations, domains, keys, keyMakers } = tables;
  if (event.stream.startsWith(`${organization.category}-`)) {
    const before = organizations.get(id) ?? organization.initial;
    organizations.set(id, organization.evolve(before, event as RecordedEvent<OrganizationEvent>, metadata));
  } else if (event.stream.startsWith(`${sendingDomain.category}-`)) {
    const before = domains.get(id) ?? sendingDomain.initial;
    domains.set(id, sendingDomain.evolve(before, event as RecordedEvent<SendingDomainEvent>, metadata));
  } else {
    if (event.type === 'KeyCreated') keyMakers.set(id, metadata.actor);
    keys.set(id, apiKey.evolve(keys.get(id) ?? apiKey.initial, event as RecordedEvent<ApiKeyEvent>, metadata));
  }
};

export const readDirectory = async (store: EventStore): Promise<Directory> => {
  const tables: Tables = { organizations: new Map(), domains: new Map(), keys: new Map(), keyMakers: new Map() };
  const head = await store.head();
  let from = LOG_START;
  while (from < head) {
    const page = await store.readAll({ from, limit: PAGE, filter: { categories: CATEGORIES } });
    for (const event of page.events) apply(tables, event);
    if (page.position === from) break;
    from = page.position;
  }
  return tables;
};

/** The admin key that the service itself made at its first start. */
export const firstAdminKey = ({ keys, keyMakers }: Directory): ExistingApiKey | undefined =>
  [...keys.values()].find(
    (key): key is ExistingApiKey =>
      key.status !== 'absent' && key.environment === 'live' && keyMakers.get(key.keyId) === 'service',
  );
