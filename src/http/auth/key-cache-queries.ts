import type { DomainFacts } from '../../domain/analysis/facts.ts';
import type { ExistingApiKey } from '../../domain/api-key/api-key.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import type { KeyCacheState } from '../../domain/api-key/key-cache.ts';
import type { ExistingAuditor } from '../../domain/audit/audit.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import type { RateLimits } from '../../domain/kernel/rate-limits.ts';
import type { Role } from '../../domain/member/events.ts';
import { type Member, type MemberLink, type Members, POWERS, type Powers } from '../../domain/member/member.ts';
import { type ExistingSession, firstPasskeyUntil } from '../../domain/member/session.ts';
import type { OrganizationSettings } from '../../domain/organization/events.ts';
import { DEFAULT_SETTINGS, suspensionOf } from '../../domain/organization/organization.ts';
import { type DomainRecords, RECORDS_UNKNOWN } from '../../domain/sending-domain/domain-records.ts';
import { isVerified } from '../../domain/sending-domain/sending-domain.ts';
import type { Holder } from './secret-index.ts';

/** Lookups in the key cache during requests. */
export interface KeyCacheQueries {
  /** @param environment requested by a member. @returns null if the session's member was removed. */
  callerOf(holder: Holder, environment: Environment): Caller | null;
  /** The member and their link with this hash of a token (SHA-256, hex); undefined: none. */
  memberOfLink(linkHash: string): MemberWithLink | undefined;
  /** undefined: unknown or removed. */
  memberOf(memberId: string): MemberOfOrganization | undefined;
  /** All members, by organization. What is unchanged is the same object. */
  members(): ReadonlyMap<string, Members>;
  /** Whether any organization has a domain that may send. */
  canSend(): boolean;
  domainOf(domainId: string): Caller['domain'];
  /** Facts about the sending domain for an analysis. */
  domainFactsOf(domainId: string): DomainFacts;
  /** Its DNS records as last checked. */
  domainRecordsOf(domainId: string): DomainRecords;
  domainNamesOf(organizationId: string): readonly string[];
  domainIdsOf(organizationId: string): readonly string[];
  /** By its name; null: the first that is verified. @returns undefined: the organization has none. */
  domainNamed(organizationId: string, name: string | null): Caller['domain'] | undefined;
  /** Highest rate limits that keys of the organization may have; null: no ceilings. */
  ceilingsOf(organizationId: string): RateLimits | null;
  /** Empty if the organization does not exist. */
  organizationNameOf(organizationId: string): string;
  /** Whether it must not send. Answers from memory, also while the log cannot be read. */
  isSuspended(organizationId: string): boolean;
  /** Whether any organization must not send. */
  areAnySuspended(): boolean;
  /** Settings that the organization controls. */
  settingsOf(organizationId: string): Omit<OrganizationSettings, 'name'>;
  /** Whether the organization has such a key and it holds `admin`. */
  isAdminKey(organizationId: string, keyId: string): boolean;
  /** Whether the key ended with its domain. */
  endedWithDomain(keyId: string): boolean;
}

export interface MemberOfOrganization {
  readonly organizationId: string;
  readonly member: Member;
}

export interface MemberWithLink extends MemberOfOrganization {
  readonly link: MemberLink;
}

export const createKeyCacheQueries = (state: KeyCacheState, capturing: boolean): KeyCacheQueries => {
  const domainOf = (id: string): Caller['domain'] => {
    const domain = state.domains.get(id)?.domain;
    if (domain === undefined || domain.status === 'absent') return { id, name: '', verified: false };
    return { id, name: domain.name, verified: isVerified(domain, capturing), tracking: domain.tracking };
  };

  const domainRecordsOf = (domainId: string): DomainRecords => state.records.get(domainId) ?? RECORDS_UNKNOWN;

  const factsOf = (organizationId: string): Pick<Caller, 'plan' | 'suspension'> => {
    const found = state.organizations.get(organizationId);
    const chosen = found?.status === 'active' ? found.chosenPlans.at(-1) : undefined;
    const suspension = suspensionOf(found);
    return {
      ...(chosen === undefined ? {} : { plan: chosen.plan }),
      ...(suspension === null ? {} : { suspension }),
    };
  };

  const NO_DOMAIN = { id: '', name: '', verified: false };

  const callerOfKey = (key: ExistingApiKey, secret: number): Caller => ({
    keyId: key.keyId,
    secret,
    organizationId: key.organizationId,
    environment: key.environment,
    permissions: key.permissions,
    bounds: key,
    domain: domainOf(key.domainId),
    ...factsOf(key.organizationId),
  });

  const callerOfAuditor = ({
    auditorId,
    organizationId,
    contents,
    allowedCidrs,
    expiresAt,
  }: ExistingAuditor): Caller => ({
    keyId: auditorId,
    auditor: { contents },
    secret: 1,
    organizationId,
    environment: 'live',
    permissions: [],
    bounds: { allowedCidrs, expiresAt, rateLimits: {} },
    domain: NO_DOMAIN,
  });

  /** Masked roles are masked unless the organization says otherwise. */
  const powersOf = (organizationId: string, role: Role): Powers => {
    const found = state.organizations.get(organizationId);
    const isAllowed = found?.status === 'active' && found.contentsRoles.some((allowed) => allowed === role);
    return isAllowed ? { ...POWERS[role], withoutContents: false } : POWERS[role];
  };

  const callerOfSession = (session: ExistingSession, environment: Environment): Caller | null => {
    const { sessionId, memberId, organizationId, presentAt } = session;
    const member = state.members.get(organizationId)?.members[memberId];
    if (member === undefined) return null;
    const { permissions, withoutContents, safeMethodsOnly } = powersOf(organizationId, member.role);
    const until = firstPasskeyUntil(session, member);
    return {
      keyId: memberId,
      member: {
        sessionId,
        role: member.role,
        isOperator: member.isOperator,
        presentAt,
        ...(until !== null && { firstPasskeyUntil: until }),
        withoutContents,
        safeMethodsOnly,
      },
      secret: 1,
      organizationId,
      environment,
      permissions,
      bounds: { allowedCidrs: [], expiresAt: null, rateLimits: {} },
      domain: NO_DOMAIN,
      ...factsOf(organizationId),
    };
  };

  const callerOf = (holder: Holder, environment: Environment): Caller | null => {
    switch (holder.kind) {
      case 'key':
        return callerOfKey(holder.key, holder.number);
      case 'auditor':
        return callerOfAuditor(holder.auditor);
      case 'session':
        return callerOfSession(holder.session, environment);
      default:
        return holder satisfies never;
    }
  };

  const NO_DOMAINS: ReadonlyMap<string, string> = new Map();
  const domainsOf = (organizationId: string): ReadonlyMap<string, string> =>
    state.domainsOfOrganizations.get(organizationId) ?? NO_DOMAINS;

  const domainNamed = (organizationId: string, name: string | null): Caller['domain'] | undefined => {
    const named = domainsOf(organizationId);
    if (name === null)
      return named
        .values()
        .map(domainOf)
        .find(({ verified }) => verified);
    const id = named.get(name);
    return id === undefined ? undefined : domainOf(id);
  };

  const memberOf = (memberId: string): MemberOfOrganization | undefined => {
    const organizationId = state.organizationsOfMembers.get(memberId) ?? '';
    const member = state.members.get(organizationId)?.members[memberId];
    return member === undefined ? undefined : { organizationId, member };
  };

  return {
    callerOf,
    memberOfLink: (linkHash) => {
      const found = memberOf(state.links.get(linkHash) ?? '');
      const link = found?.member.links.find((one) => one.linkHash === linkHash);
      return found === undefined || link === undefined ? undefined : { ...found, link };
    },
    memberOf,
    members: () => state.members,
    canSend: () =>
      state.domains.values().some(({ domain }) => domain.status === 'registered' && isVerified(domain, capturing)),
    domainOf,
    domainFactsOf: (domainId) => {
      const { name, verified } = domainOf(domainId);
      const { spf, dkim, dmarc } = domainRecordsOf(domainId);
      return { name, verified, capturing, spf, dkim, dmarc };
    },
    domainRecordsOf,
    domainNamed,
    domainNamesOf: (organizationId) => [...domainsOf(organizationId).keys()],
    domainIdsOf: (organizationId) => [...domainsOf(organizationId).values()],
    ceilingsOf: (organizationId) => {
      const found = state.organizations.get(organizationId);
      return found?.status === 'active' ? found.ceilings : null;
    },
    organizationNameOf: (organizationId) => {
      const found = state.organizations.get(organizationId);
      return found?.status === 'active' ? found.settings.name : '';
    },
    isSuspended: (organizationId) => state.suspended.has(organizationId),
    areAnySuspended: () => state.suspended.size > 0,
    settingsOf: (organizationId) => {
      const found = state.organizations.get(organizationId);
      return found?.status === 'active' ? found.settings : DEFAULT_SETTINGS;
    },
    isAdminKey: (organizationId, keyId) => {
      const key = state.keys.get(keyId)?.key;
      return key?.organizationId === organizationId && key.permissions.includes('admin');
    },
    endedWithDomain: (keyId) => state.keys.get(keyId)?.endedWithDomain === true,
  };
};
