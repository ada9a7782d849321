import type { ExistingApiKey } from '../../domain/api-key/api-key.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import type { ExistingAuditor } from '../../domain/audit/auditor.ts';
import type { KeyCacheState } from '../../domain/key-cache.ts';
import type { OrganizationSettings } from '../../domain/organization/events.ts';
import { DEFAULT_SETTINGS } from '../../domain/organization/organization.ts';
import type { DomainFacts } from '../../domain/ports/analyzer.ts';
import type { RateLimits } from '../../domain/rate-limits.ts';
import { type DomainRecords, RECORDS_UNKNOWN } from '../../domain/sending-domain/domain-records.ts';
import { isVerified } from '../../domain/sending-domain/sending-domain.ts';

/** What requests ask of the key cache. */
export interface KeyCacheQueries {
  /** @param secret number of the presented secret. */
  callerOf(key: ExistingApiKey, secret: number): Caller;
  auditorCallerOf(auditor: ExistingAuditor): Caller;
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
    auditorCallerOf: ({ auditorId, organizationId, contents, allowedCidrs, expiresAt }) => ({
      keyId: auditorId,
      auditor: { contents },
      secret: 1,
      organizationId,
      environment: 'live',
      permissions: [],
      bounds: { allowedCidrs, expiresAt, rateLimits: {} },
      domain: { id: '', name: '', verified: false },
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
