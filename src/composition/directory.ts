import { type ApiKey, apiKey, type ExistingApiKey } from '../domain/api-key/api-key.ts';
import { categoryOf, type EventStore, idOf, LOG_START, type RecordedEvent } from '../domain/event-store.ts';
import type { ApiKeyEvent, OrganizationEvent, SendingDomainEvent } from '../domain/events.ts';
import { type Organization, organization } from '../domain/organization/organization.ts';
import { type SendingDomain, sendingDomain } from '../domain/sending-domain/sending-domain.ts';

/** Everything an operator names: small enough to be folded whole, and true whatever state the read models are in. */
export interface Directory {
  readonly organizations: ReadonlyMap<string, Organization>;
  readonly domains: ReadonlyMap<string, SendingDomain>;
  readonly keys: ReadonlyMap<string, ApiKey>;
  /** Of keys that the service itself made: hash of the last secret that it gave them. */
  readonly serviceSecrets: ReadonlyMap<string, string>;
}

const PAGE = 1000;
const CATEGORIES = [organization.category, sendingDomain.category, apiKey.category];

interface Tables {
  readonly organizations: Map<string, Organization>;
  readonly domains: Map<string, SendingDomain>;
  readonly keys: Map<string, ApiKey>;
  readonly serviceSecrets: Map<string, string>;
}

const applyKey = ({ keys, serviceSecrets }: Tables, id: string, event: RecordedEvent<ApiKeyEvent>): void => {
  keys.set(id, apiKey.evolve(keys.get(id) ?? apiKey.initial, event, event.metadata));
  if (event.type !== 'KeyRevoked' && event.metadata.actor === 'service') serviceSecrets.set(id, event.data.secret.hash);
};

const apply = (tables: Tables, event: RecordedEvent): void => {
  const id = idOf(event.stream);
  const { organizations, domains } = tables;
  switch (categoryOf(event.stream)) {
    case organization.category: {
      const before = organizations.get(id) ?? organization.initial;
      organizations.set(id, organization.evolve(before, event as RecordedEvent<OrganizationEvent>, event.metadata));
      return;
    }
    case sendingDomain.category: {
      const before = domains.get(id) ?? sendingDomain.initial;
      domains.set(id, sendingDomain.evolve(before, event as RecordedEvent<SendingDomainEvent>, event.metadata));
      return;
    }
    default:
      applyKey(tables, id, event as RecordedEvent<ApiKeyEvent>);
  }
};

export const readDirectory = async (store: EventStore): Promise<Directory> => {
  const tables: Tables = { organizations: new Map(), domains: new Map(), keys: new Map(), serviceSecrets: new Map() };
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
export const firstAdminKey = ({ keys, serviceSecrets }: Directory): ExistingApiKey | undefined =>
  [...keys.values()].find(
    (key): key is ExistingApiKey =>
      key.status !== 'absent' && key.environment === 'live' && serviceSecrets.has(key.keyId),
  );
