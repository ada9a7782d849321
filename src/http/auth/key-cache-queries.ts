import { type AddressRange, parseRange } from '../../domain/address-ranges.ts';
import type { ExistingApiKey, NumberedSecret } from '../../domain/api-key/api-key.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import type { KeyCacheProjection, KeyCacheState, KeyChange, KeyEntry } from '../../domain/key-cache.ts';
import type { OrganizationSettings } from '../../domain/organization/events.ts';
import { DEFAULT_SETTINGS } from '../../domain/organization/organization.ts';
import type { DomainFacts } from '../../domain/ports/analyzer.ts';
import type { RecordedEvent } from '../../domain/ports/event-store.ts';
import type { RateLimits } from '../../domain/rate-limits.ts';
import { type DomainRecords, RECORDS_UNKNOWN } from '../../domain/sending-domain/domain-records.ts';
import { isVerified } from '../../domain/sending-domain/sending-domain.ts';

/** A secret that a client may present, and its key. */
export interface PresentedSecret {
  readonly key: ExistingApiKey;
  readonly secretHash: string;
  readonly number: number;
  /** End of the secret's grace period (ISO 8601); null: the current secret. */
  readonly endsAt: string | null;
  readonly ranges: readonly AddressRange[];
}

/** Valid secrets by hash. */
export interface SecretIndex {
  /** Applies the next event of the log to the key cache and to this index. */
  apply(event: RecordedEvent): void;
  /** By SHA-256 of the secret, hex. */
  find(secretHash: string): PresentedSecret | undefined;
}

const secretsOf = ({
  key,
  endedWithDomain,
}: KeyEntry): readonly (NumberedSecret & { readonly expiresAt: string | null })[] =>
  key.status === 'active' && !endedWithDomain ? [{ ...key.secret, expiresAt: null }, ...key.earlierSecrets] : [];

/** Indexes secrets by hash, with everything that can be computed before a request presents one. */
export const createSecretIndex = (projection: KeyCacheProjection): SecretIndex => {
  const secrets = new Map<string, PresentedSecret>();

  const index = ({ before, after }: KeyChange): void => {
    if (before !== undefined) for (const { hash } of secretsOf(before)) secrets.delete(hash);
    const { key } = after;
    const ranges = key.allowedCidrs.map(parseRange).filter((range) => range !== null);
    for (const { hash, number, expiresAt } of secretsOf(after))
      secrets.set(hash, { key, secretHash: hash, number, endsAt: expiresAt, ranges });
  };

  return {
    apply: (event) => {
      for (const change of projection.apply(event)) index(change);
    },
    find: (secretHash) => secrets.get(secretHash),
  };
};

/** What requests ask of the key cache. */
export interface KeyCacheQueries {
  /** @param secret number of the presented secret. */
  callerOf(key: ExistingApiKey, secret: number): Caller;
  domainOf(domainId: string): Caller['domain'];
  /** Facts about the sending domain for an analysis. */
  domainFactsOf(domainId: string): DomainFacts;
  /** Its DNS records as last checked. */
  domainRecordsOf(domainId: string): DomainRecords;
  domainNamesOf(organizationId: string): readonly string[];
  /** Highest rate limits that keys of the organization may have; null: no ceilings. */
  ceilingsOf(organizationId: string): RateLimits | null;
  /** What the organization decides for itself. */
  settingsOf(organizationId: string): Omit<OrganizationSettings, 'name'>;
  /** Whether the key ended with its domain. */
  endedWithDomain(keyId: string): boolean;
}

export const createKeyCacheQueries = (state: KeyCacheState, capturing: boolean): KeyCacheQueries => {
  const domainOf = (id: string): Caller['domain'] => {
    const domain = state.domains.get(id)?.domain;
    if (domain === undefined || domain.status === 'absent') return { id, name: '', verified: false };
    return { id, name: domain.name, verified: isVerified(domain, capturing), tracking: domain.tracking };
  };

  const domainRecordsOf = (domainId: string): DomainRecords => state.records.get(domainId) ?? RECORDS_UNKNOWN;

  const chosenPlanOf = (organizationId: string): Pick<Caller, 'plan'> => {
    const found = state.organizations.get(organizationId);
    const chosen = found?.status === 'active' ? found.chosenPlans.at(-1) : undefined;
    return chosen === undefined ? {} : { plan: chosen.plan };
  };

  return {
    callerOf: (key, secret) => ({
      keyId: key.keyId,
      secret,
      organizationId: key.organizationId,
      environment: key.environment,
      permissions: key.permissions,
      bounds: key,
      domain: domainOf(key.domainId),
      ...chosenPlanOf(key.organizationId),
    }),
    domainOf,
    domainFactsOf: (domainId) => {
      const { name, verified } = domainOf(domainId);
      const { spf, dkim, dmarc } = domainRecordsOf(domainId);
      return { name, verified, capturing, spf, dkim, dmarc };
    },
    domainRecordsOf,
    domainNamesOf: (organizationId) =>
      [...state.domains.values()].flatMap(({ domain }) =>
        domain.status === 'registered' && domain.organizationId === organizationId ? [domain.name] : [],
      ),
    ceilingsOf: (organizationId) => {
      const found = state.organizations.get(organizationId);
      return found?.status === 'active' ? found.ceilings : null;
    },
    settingsOf: (organizationId) => {
      const found = state.organizations.get(organizationId);
      return found?.status === 'active' ? found.settings : DEFAULT_SETTINGS;
    },
    endedWithDomain: (keyId) => state.keys.get(keyId)?.endedWithDomain === true,
  };
};
