import { auditor, type ExistingAuditor } from '../audit/audit.ts';
import { DomainError } from '../kernel/errors.ts';
import { categoryOf, idOf, type RecordedEvent, type Revision } from '../kernel/event-store.ts';
import type {
  ApiKeyEvent,
  AuditorEvent,
  DomainRecordsEvent,
  MemberEvent,
  OrganizationEvent,
  SendingDomainEvent,
  SessionEvent,
} from '../kernel/events.ts';
import { type MemberLink, type Members, members as membersOf } from '../member/member.ts';
import { type ExistingSession, session } from '../member/session.ts';
import {
  type ActiveOrganization,
  type Organization,
  organization,
  requireOrganization,
  suspensionOf,
} from '../organization/organization.ts';
import { type DomainRecords, domainRecords } from '../sending-domain/domain-records.ts';
import { type SendingDomain, sendingDomain } from '../sending-domain/sending-domain.ts';
import { type ApiKey, apiKey, type ExistingApiKey, works } from './api-key.ts';

/** A key folded from its stream. */
export interface KeyEntry {
  readonly key: ExistingApiKey;
  readonly revision: Revision;
  /** True if its domain was deleted. The key stays invalid even if the name is registered again. */
  readonly endedWithDomain: boolean;
}

interface DomainEntry {
  readonly domain: SendingDomain;
  readonly revision: Revision;
}

/** Effect of one event on a key. */
export interface KeyChange {
  /** Undefined if the event created the key. */
  readonly before: KeyEntry | undefined;
  readonly after: KeyEntry;
}

/**
 * Organizations, domains, keys, auditors, members and sessions. They are few enough to be held in memory, and
 * independent of the read models.
 */
export interface KeyCacheState {
  readonly organizations: ReadonlyMap<string, Organization>;
  /** Ids of organizations whose sending is suspended. */
  readonly suspended: ReadonlySet<string>;
  readonly domains: ReadonlyMap<string, DomainEntry>;
  /** Ids of registered domains by organization and name, in order of registration. */
  readonly domainsOfOrganizations: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** DNS records at the last check, by domain id. */
  readonly records: ReadonlyMap<string, DomainRecords>;
  readonly keys: ReadonlyMap<string, KeyEntry>;
  /** Auditors that have not been removed. */
  readonly auditors: ReadonlyMap<string, ExistingAuditor>;
  /** Members by organization. */
  readonly members: ReadonlyMap<string, Members>;
  /** Member ids by the hash of a sign-in link's token. */
  readonly links: ReadonlyMap<string, string>;
  /** Organization ids by member id. */
  readonly organizationsOfMembers: ReadonlyMap<string, string>;
  /** Sessions that have not been ended, oldest first. Some may have expired. */
  readonly sessions: ReadonlyMap<string, ExistingSession>;
}

export interface KeyCacheProjection extends KeyCacheState {
  /** Applies the next event of the log. @returns the keys it changed. */
  apply(event: RecordedEvent): readonly KeyChange[];
  /** Drops expired sessions, oldest first. @param nowMs by the log. @returns the dropped sessions. */
  forgetSessions(nowMs: number): readonly ExistingSession[];
}

/**
 * Loads the key cache from every event in the log at the time of the call.
 * @throws {DomainError} `unavailable`.
 */
export type LoadKeyCache = () => Promise<KeyCacheState>;

/** Stream categories from which the cache is built. */
export const KEY_CACHE_CATEGORIES: readonly string[] = [
  organization.category,
  sendingDomain.category,
  domainRecords.category,
  apiKey.category,
  auditor.category,
  membersOf.category,
  session.category,
];

const NOTHING: readonly KeyChange[] = [];

export const createKeyCacheProjection = (): KeyCacheProjection => {
  const organizations = new Map<string, Organization>();
  const suspended = new Set<string>();
  const domains = new Map<string, DomainEntry>();
  const domainsOfOrganizations = new Map<string, Map<string, string>>();
  const records = new Map<string, DomainRecords>();
  const keys = new Map<string, KeyEntry>();
  const auditors = new Map<string, ExistingAuditor>();
  const members = new Map<string, Members>();
  const links = new Map<string, string>();
  const organizationsOfMembers = new Map<string, string>();
  const sessions = new Map<string, ExistingSession>();

  const put = (after: KeyEntry): KeyChange => {
    const before = keys.get(after.key.keyId);
    keys.set(after.key.keyId, after);
    return { before, after };
  };

  const applyKey = (id: string, event: RecordedEvent<ApiKeyEvent>): readonly KeyChange[] => {
    const before = keys.get(id);
    const state: ApiKey = apiKey.evolve(before?.key ?? apiKey.initial, event, event.metadata);
    if (state.status === 'absent') return NOTHING;
    // A key created while its domain was being deleted never becomes valid.
    const endedWithDomain = before?.endedWithDomain ?? domains.get(state.domainId)?.domain.status === 'deleted';
    return [put({ key: state, revision: event.revision, endedWithDomain })];
  };

  const endKeysOf = (domainId: string): readonly KeyChange[] =>
    [...keys.values()]
      .filter(({ key, endedWithDomain }) => key.domainId === domainId && !endedWithDomain)
      .map((entry) => put({ ...entry, endedWithDomain: true }));

  const indexDomain = (domain: SendingDomain): void => {
    if (domain.status === 'absent') return;
    const { organizationId, name, domainId } = domain;
    const named = domainsOfOrganizations.get(organizationId) ?? new Map<string, string>();
    domainsOfOrganizations.set(organizationId, named);
    if (domain.status === 'registered') named.set(name, domainId);
    else named.delete(name);
  };

  const applyDomain = (id: string, event: RecordedEvent<SendingDomainEvent>): readonly KeyChange[] => {
    const before = domains.get(id)?.domain ?? sendingDomain.initial;
    const domain = sendingDomain.evolve(before, event, event.metadata);
    domains.set(id, { domain, revision: event.revision });
    indexDomain(domain);
    return event.type === 'DomainDeleted' ? endKeysOf(id) : NOTHING;
  };

  const applyRecords = (id: string, event: RecordedEvent<DomainRecordsEvent>): readonly KeyChange[] => {
    records.set(id, domainRecords.evolve(records.get(id) ?? domainRecords.initial, event, event.metadata));
    return NOTHING;
  };

  const applyOrganization = (id: string, event: RecordedEvent<OrganizationEvent>): readonly KeyChange[] => {
    const before = organizations.get(id) ?? organization.initial;
    const after = organization.evolve(before, event, event.metadata);
    organizations.set(id, after);
    if (suspensionOf(after) === null) suspended.delete(id);
    else suspended.add(id);
    return NOTHING;
  };

  const applyAuditor = (id: string, event: RecordedEvent<AuditorEvent>): readonly KeyChange[] => {
    const state = auditor.evolve(auditors.get(id) ?? auditor.initial, event, event.metadata);
    if (state.status === 'active') auditors.set(id, state);
    else auditors.delete(id);
    return NOTHING;
  };

  const replaceLinks = (
    memberId: string,
    before: readonly MemberLink[] = [],
    after: readonly MemberLink[] = [],
  ): void => {
    for (const { linkHash } of before) links.delete(linkHash);
    for (const { linkHash } of after) links.set(linkHash, memberId);
  };

  const applyMembers = (id: string, event: RecordedEvent<MemberEvent>): readonly KeyChange[] => {
    const before = members.get(id) ?? membersOf.initial;
    const after = membersOf.evolve(before, event, event.metadata);
    members.set(id, after);
    const { memberId } = event.data;
    replaceLinks(memberId, before.members[memberId]?.links, after.members[memberId]?.links);
    if (after.members[memberId] === undefined) organizationsOfMembers.delete(memberId);
    else organizationsOfMembers.set(memberId, id);
    return NOTHING;
  };

  /** @param presentAt ISO 8601. */
  const notePresence = (sessionId: string, presentAt: string): void => {
    const known = sessions.get(sessionId);
    if (known !== undefined) sessions.set(sessionId, { ...known, presentAt });
  };

  const applySession = (id: string, event: RecordedEvent<SessionEvent>): readonly KeyChange[] => {
    if (event.type === 'PresenceProven') {
      notePresence(event.data.sessionId, event.metadata.occurredAt);
      return NOTHING;
    }
    const state = session.evolve(sessions.get(id) ?? session.initial, event, event.metadata);
    if (state.status === 'active') sessions.set(id, state);
    else sessions.delete(id);
    return NOTHING;
  };

  const forgetSessions = (nowMs: number): readonly ExistingSession[] => {
    const forgotten: ExistingSession[] = [];
    for (const one of sessions.values()) {
      if (Date.parse(one.expiresAt) > nowMs) break;
      forgotten.push(one);
    }
    for (const { sessionId } of forgotten) sessions.delete(sessionId);
    return forgotten;
  };

  return {
    forgetSessions,
    organizations,
    suspended,
    domains,
    domainsOfOrganizations,
    records,
    keys,
    auditors,
    members,
    links,
    organizationsOfMembers,
    sessions,
    apply: (event) => {
      const id = idOf(event.stream);
      // A stream of a category only holds events of its family.
      switch (categoryOf(event.stream)) {
        case apiKey.category:
          return applyKey(id, event as RecordedEvent<ApiKeyEvent>);
        case sendingDomain.category:
          return applyDomain(id, event as RecordedEvent<SendingDomainEvent>);
        case domainRecords.category:
          return applyRecords(id, event as RecordedEvent<DomainRecordsEvent>);
        case auditor.category:
          return applyAuditor(id, event as RecordedEvent<AuditorEvent>);
        case membersOf.category:
          return applyMembers(id, event as RecordedEvent<MemberEvent>);
        case session.category:
          return applySession(id, event as RecordedEvent<SessionEvent>);
        case organization.category:
          return applyOrganization(id, event as RecordedEvent<OrganizationEvent>);
        default:
          return NOTHING;
      }
    },
  };
};

/** The keys with which an organization can be administered now. */
export const workingAdminKeys = (keyCache: KeyCacheState, organizationId: string, now: string): readonly KeyEntry[] =>
  [...keyCache.keys.values()].filter(
    ({ key, endedWithDomain }) =>
      key.organizationId === organizationId &&
      key.permissions.includes('admin') &&
      works(key, { now, endedWithDomain }),
  );

/** Whether one key, while it works, permits everything that the other does, for at least as long. */
export const replaces = (key: ExistingApiKey, lost: ExistingApiKey): boolean =>
  key.status === 'active' &&
  key.permissions.includes('admin') &&
  (key.environment === 'live' || lost.environment === 'test') &&
  (key.expiresAt === null || (lost.expiresAt !== null && key.expiresAt >= lost.expiresAt));

const isReleased = (
  releases: Readonly<Record<string, Revision>>,
  id: string,
  revision: Revision | undefined,
): boolean => revision !== undefined && revision <= (releases[id] ?? -1);

/**
 * Whether the key's removal has been announced. A release does not apply to later revisions: by then the change was
 * either made, and the key shows it, or can no longer be made.
 */
const isBeingLost = (state: ActiveOrganization, { key, revision }: KeyEntry, keyCache: KeyCacheState): boolean =>
  isReleased(state.releasedKeys, key.keyId, revision) ||
  isReleased(state.releasedDomains, key.domainId, keyCache.domains.get(key.domainId)?.revision);

export interface ReleaseAdminKeys {
  /** Working admin keys that are about to lose their power, each at the revision that is about to change. */
  readonly lost: readonly Pick<KeyEntry, 'key' | 'revision'>[];
  /** The domain that is about to be deleted with its keys, or null. */
  readonly domain: { readonly domainId: string; readonly revision: Revision } | null;
  /** Must be at least as fresh as `state`, so that it contains what other writers of that stream relied on. */
  readonly keyCache: KeyCacheState;
  /** ISO 8601. */
  readonly now: string;
}

/**
 * Announces the removal of admin keys in a single stream, in which all removals conflict. The remaining keys must be
 * able to replace the lost ones.
 * @throws {DomainError} `last_admin_key`.
 */
export const releaseAdminKeys = (
  state: Organization,
  { lost, domain, keyCache, now }: ReleaseAdminKeys,
): readonly OrganizationEvent[] => {
  const organization = requireOrganization(state);
  const { organizationId } = organization;
  const losing = new Set(lost.map(({ key }) => key.keyId));
  const left = workingAdminKeys(keyCache, organizationId, now).filter(
    (entry) =>
      !losing.has(entry.key.keyId) &&
      entry.key.domainId !== domain?.domainId &&
      !isBeingLost(organization, entry, keyCache),
  );
  if (!lost.every(({ key }) => left.some((other) => replaces(other.key, key)))) {
    throw new DomainError(
      'last_admin_key',
      'this would leave the organization without a working admin key: first create another one that is valid for as long',
    );
  }
  const keys = lost.map(({ key, revision }) => ({ keyId: key.keyId, revision }));
  return [{ type: 'AdminKeysReleased', data: { organizationId, keys, domain } }];
};
