import type { DomainFacts } from '../../domain/analysis/analysis.ts';
import type { ExistingApiKey } from '../../domain/api-key/api-key.ts';
import type { Caller } from '../../domain/caller.ts';
import type { RateLimits } from '../../domain/rate-limits.ts';
import type { Register } from '../../domain/register.ts';
import { type DomainRecords, RECORDS_UNKNOWN } from '../../domain/sending-domain/domain-records.ts';
import { isVerified } from '../../domain/sending-domain/sending-domain.ts';

/** What requests ask of the register, without a look at the log. */
export interface RegisterFacts {
  /** @param secret the number of the one that was shown. */
  callerOf(key: ExistingApiKey, secret: number): Caller;
  domainOf(domainId: string): Caller['domain'];
  /** What an analysis is to know of the sending domain. */
  domainFactsOf(domainId: string): DomainFacts;
  /** What was last seen of it in the DNS. */
  domainRecordsOf(domainId: string): DomainRecords;
  domainNamesOf(organizationId: string): readonly string[];
  /** Highest rate limits keys of the organization may have; null: no ceilings. */
  ceilingsOf(organizationId: string): RateLimits | null;
  /** Whether the key ended with its domain. */
  endedWithDomain(keyId: string): boolean;
}

export const createRegisterFacts = (register: Register, capturing: boolean): RegisterFacts => {
  const domainOf = (id: string): Caller['domain'] => {
    const domain = register.domains.get(id)?.domain;
    if (domain === undefined || domain.status === 'absent') return { id, name: '', verified: false };
    return { id, name: domain.name, verified: isVerified(domain, capturing) };
  };

  const domainRecordsOf = (domainId: string): DomainRecords => register.records.get(domainId) ?? RECORDS_UNKNOWN;

  return {
    callerOf: (key, secret) => ({
      keyId: key.keyId,
      secret,
      organizationId: key.organizationId,
      environment: key.environment,
      permissions: key.permissions,
      bounds: key,
      domain: domainOf(key.domainId),
    }),
    domainOf,
    domainFactsOf: (domainId) => {
      const { name, verified } = domainOf(domainId);
      const { spf, dkim, dmarc } = domainRecordsOf(domainId);
      return { name, verified, capturing, spf, dkim, dmarc };
    },
    domainRecordsOf,
    domainNamesOf: (organizationId) =>
      [...register.domains.values()].flatMap(({ domain }) =>
        domain.status === 'registered' && domain.organizationId === organizationId ? [domain.name] : [],
      ),
    ceilingsOf: (organizationId) => {
      const found = register.organizations.get(organizationId);
      return found?.status === 'active' ? found.ceilings : null;
    },
    endedWithDomain: (keyId) => register.keys.get(keyId)?.endedWithDomain === true,
  };
};
