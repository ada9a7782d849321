import type { DomainFacts } from '../../domain/analysis/facts.ts';
import type { ExistingApiKey } from '../../domain/api-key/api-key.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import type {
  KeyCacheProjection,
  KeyCacheState,
  KeyChange,
  KeyEntry,
} from '../../domain/api-key/key-cache-projection.ts';
import type { ExistingAuditor } from '../../domain/audit/audit.ts';
import { type AddressRange, parseRange } from '../../domain/kernel/addresses.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import { idOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { RateLimits } from '../../domain/kernel/rate-limits.ts';
import type { Role } from '../../domain/member/events.ts';
import type { Member, MemberLink, Members } from '../../domain/member/member.ts';
import { POWERS, type Powers } from '../../domain/member/powers.ts';
import { type ExistingSession, firstPasskeyUntil } from '../../domain/member/session.ts';
import type { OrganizationSettings } from '../../domain/organization/events.ts';
import { DEFAULT_SETTINGS, suspensionOf } from '../../domain/organization/organization.ts';
import { type DomainRecords, RECORDS_UNKNOWN } from '../../domain/sending-domain/domain-records.ts';
import { isVerified } from '../../domain/sending-domain/sending-domain.ts';

/**
 * Lookups of requests in the key cache: a credential by the hash of its secret, and what is known of its caller. All of
 * them answer from memory.
 */

/** Owner of a secret. */
type Holder =
  | { readonly kind: 'key'; readonly key: ExistingApiKey; readonly number: number }
  | { readonly kind: 'auditor'; readonly auditor: ExistingAuditor }
  | { readonly kind: 'session'; readonly session: ExistingSession };

/** Part of a request that carries a secret. Sessions are accepted in cookies only, keys and tokens as bearer tokens only. */
export type Carrier = 'bearer' | 'cookie';

/** A secret that a client may present. */
export interface Credential {
  readonly holder: Holder;
  readonly carrier: Carrier;
  /** SHA-256, hex. */
  readonly secretHash: string;
  /** Expiry (ISO 8601); null: never. */
  readonly endsAt: string | null;
  /** Networks that it may be used from; none: any. */
  readonly ranges: readonly AddressRange[];
}

/** Valid secrets by hash. */
export interface SecretIndex {
  /** Applies the next event of the log to the key cache and to this index. */
  apply(event: RecordedEvent): void;
  /** By SHA-256 of the secret, hex. */
  find(secretHash: string): Credential | undefined;
}

const NONE: readonly Credential[] = [];

const rangesOf = (cidrs: readonly string[]): readonly AddressRange[] =>
  cidrs.map(parseRange).filter((range) => range !== null);

const earlier = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && other < one) ? other : one;

const ofKey = ({ key, endedWithDomain }: KeyEntry): readonly Credential[] => {
  if (key.status !== 'active' || endedWithDomain) return NONE;
  const ranges = rangesOf(key.allowedCidrs);
  return [{ ...key.secret, expiresAt: null }, ...key.earlierSecrets].map(({ hash, number, expiresAt }) => ({
    holder: { kind: 'key', key, number },
    carrier: 'bearer',
    secretHash: hash,
    endsAt: earlier(expiresAt, key.expiresAt),
    ranges,
  }));
};

const ofAuditor = (auditor: ExistingAuditor): Credential => ({
  holder: { kind: 'auditor', auditor },
  carrier: 'bearer',
  secretHash: auditor.secret.hash,
  endsAt: auditor.expiresAt,
  ranges: rangesOf(auditor.allowedCidrs),
});

const ofSession = (session: ExistingSession): Credential => ({
  holder: { kind: 'session', session },
  carrier: 'cookie',
  secretHash: session.secretHash,
  endsAt: session.expiresAt,
  ranges: [],
});

/** Indexes secrets by hash, with everything that can be computed before a request presents one. */
export const createSecretIndex = (projection: KeyCacheProjection): SecretIndex => {
  const secrets = new Map<string, Credential>();

  const replace = (before: readonly Credential[], after: readonly Credential[]): void => {
    for (const { secretHash } of before) secrets.delete(secretHash);
    for (const credential of after) secrets.set(credential.secretHash, credential);
  };

  const replaceKey = ({ before, after }: KeyChange): void =>
    replace(before === undefined ? NONE : ofKey(before), ofKey(after));

  /** Credentials of the auditor or the session with this id. */
  const othersOf = (id: string): readonly Credential[] => {
    const auditor = projection.auditors.get(id);
    const session = projection.sessions.get(id);
    return [
      ...(auditor === undefined ? NONE : [ofAuditor(auditor)]),
      ...(session === undefined ? NONE : [ofSession(session)]),
    ];
  };

  return {
    apply: (event) => {
      const id = event.type === 'PresenceProven' ? event.data.sessionId : idOf(event.stream);
      const before = othersOf(id);
      for (const change of projection.apply(event)) replaceKey(change);
      replace(before, othersOf(id));
      // With each that begins those before it that are over are forgotten: no number of them fills the memory.
      if (event.type === 'SessionStarted')
        replace(projection.forgetSessions(Date.parse(event.metadata.occurredAt)).map(ofSession), NONE);
    },
    find: (secretHash) => secrets.get(secretHash),
  };
};

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

interface MemberWithLink extends MemberOfOrganization {
  readonly link: MemberLink;
}

export const createKeyCacheQueries = (state: KeyCacheState, capturing: boolean): KeyCacheQueries => {
  const domainOf = (id: string): Caller['domain'] => {
    const domain = state.domains.get(id)?.domain;
    if (domain === undefined || domain.status === 'absent') return { id, name: '', verified: false };
    return { id, name: domain.name, verified: isVerified(domain, capturing), tracking: domain.tracking };
  };

  const domainRecordsOf = (domainId: string): DomainRecords => state.records.get(domainId) ?? RECORDS_UNKNOWN;

  const factsOf = (organizationId: string): Pick<Caller, 'chosenPlans' | 'suspension'> => {
    const found = state.organizations.get(organizationId);
    const chosenPlans = found?.status === 'active' ? found.chosenPlans : [];
    const suspension = suspensionOf(found);
    return {
      ...(chosenPlans.length === 0 ? {} : { chosenPlans }),
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
