import { type ApiKey, apiKey, type ExistingApiKey } from '../../domain/api-key/api-key.ts';
import type { Caller } from '../../domain/caller.ts';
import { categoryOf, type RecordedEvent } from '../../domain/event-store.ts';
import type { ApiKeyEvent, OrganizationEvent, SendingDomainEvent } from '../../domain/events.ts';
import { type Organization, organization } from '../../domain/organization/organization.ts';
import type { RateLimits } from '../../domain/rate-limits.ts';
import { isVerified, type SendingDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { type AddressRange, parseRange } from './address-ranges.ts';

/** What the door needs to know of the log. */
export const REGISTER_CATEGORIES = ['organization', 'domain', 'apiKey'] as const;

/** A secret that somebody showed, and the key it opens. */
export interface ShownSecret {
  readonly key: ExistingApiKey;
  readonly secretHash: string;
  /** End of the secret's grace period (ISO 8601); null: the current secret. */
  readonly endsAt: string | null;
  readonly ranges: readonly AddressRange[];
}

export interface KeyRegister {
  apply(event: RecordedEvent): void;
  /** By SHA-256 of the secret, hex. */
  find(secretHash: string): ShownSecret | undefined;
  callerOf(key: ExistingApiKey): Caller;
  domainOf(domainId: string): Caller['domain'];
  domainNamesOf(organizationId: string): readonly string[];
  /** Highest rate limits keys of the organization may have; null: no ceilings. */
  ceilingsOf(organizationId: string): RateLimits | null;
  /** Ids of the other keys that could administer what this key does. */
  otherAdminKeys(keyId: string, now: string): readonly string[];
}

const secretsOf = (key: ApiKey): readonly (readonly [string, string | null])[] =>
  key.status === 'active'
    ? [[key.secret.hash, null], ...key.earlierSecrets.map(({ hash, expiresAt }) => [hash, expiresAt] as const)]
    : [];

/** Whether this key works now, and would still administer everything that `lost` does. */
const replaces = (key: ExistingApiKey, lost: ExistingApiKey, now: string): boolean =>
  key.keyId !== lost.keyId &&
  key.status === 'active' &&
  key.organizationId === lost.organizationId &&
  key.permissions.includes('admin') &&
  (key.environment === 'live' || lost.environment === 'test') &&
  (key.expiresAt === null || key.expiresAt > now);

/** Organizations, domains and keys as the log tells them, in memory. */
export const createKeyRegister = ({ capturing }: { readonly capturing: boolean }): KeyRegister => {
  const keys = new Map<string, ExistingApiKey>();
  const secrets = new Map<string, ShownSecret>();
  const domains = new Map<string, SendingDomain>();
  const organizations = new Map<string, Organization>();

  const applyKey = (event: RecordedEvent<ApiKeyEvent>): void => {
    const { keyId } = event.data;
    const before = keys.get(keyId) ?? apiKey.initial;
    const after = apiKey.evolve(before, event, event.metadata);
    for (const [hash] of secretsOf(before)) secrets.delete(hash);
    if (after.status === 'absent') return;
    keys.set(keyId, after);
    const ranges = after.allowedCidrs.map(parseRange).filter((range) => range !== null);
    for (const [hash, endsAt] of secretsOf(after)) {
      secrets.set(hash, { key: after, secretHash: hash, endsAt, ranges });
    }
  };

  const applyDomain = (event: RecordedEvent<SendingDomainEvent>): void => {
    const { domainId } = event.data;
    const before = domains.get(domainId) ?? sendingDomain.initial;
    domains.set(domainId, sendingDomain.evolve(before, event, event.metadata));
  };

  const applyOrganization = (event: RecordedEvent<OrganizationEvent>): void => {
    const { organizationId } = event.data;
    const before = organizations.get(organizationId) ?? organization.initial;
    organizations.set(organizationId, organization.evolve(before, event, event.metadata));
  };

  const domainOf = (id: string): Caller['domain'] => {
    const domain = domains.get(id) ?? sendingDomain.initial;
    if (domain.status === 'absent') return { id, name: '', verified: false };
    return { id, name: domain.name, verified: isVerified(domain, capturing) };
  };

  return {
    apply: (event) => {
      const category = categoryOf(event.stream);
      // A stream of a category holds events of its family only.
      if (category === 'apiKey') applyKey(event as RecordedEvent<ApiKeyEvent>);
      if (category === 'domain') applyDomain(event as RecordedEvent<SendingDomainEvent>);
      if (category === 'organization') applyOrganization(event as RecordedEvent<OrganizationEvent>);
    },
    find: (secretHash) => secrets.get(secretHash),
    callerOf: ({ keyId, organizationId, environment, permissions, domainId }) => ({
      ...{ keyId, organizationId, environment, permissions },
      domain: domainOf(domainId),
    }),
    domainOf,
    domainNamesOf: (organizationId) =>
      [...domains.values()].flatMap((domain) =>
        domain.status !== 'absent' && domain.organizationId === organizationId ? [domain.name] : [],
      ),
    ceilingsOf: (organizationId) => {
      const found = organizations.get(organizationId);
      return found?.status === 'active' ? found.ceilings : null;
    },
    otherAdminKeys: (keyId, now) => {
      const lost = keys.get(keyId);
      if (lost === undefined) return [];
      return [...keys.values()].filter((key) => replaces(key, lost, now)).map((key) => key.keyId);
    },
  };
};
