import { type ExistingApiKey, works } from '../api-key/api-key.ts';
import type { KeyCacheState, KeyEntry } from '../api-key/key-cache.ts';
import { DomainError } from '../kernel/errors.ts';
import type { Revision } from '../kernel/event-store.ts';
import type { OrganizationEvent } from '../kernel/events.ts';
import { type ActiveOrganization, type Organization, requireOrganization } from './organization.ts';

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
export const isBeingLost = (state: ActiveOrganization, { key, revision }: KeyEntry, keyCache: KeyCacheState): boolean =>
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
      'this would take away the last usable admin key of the organization: create another one first, which lasts as long',
    );
  }
  const keys = lost.map(({ key, revision }) => ({ keyId: key.keyId, revision }));
  return [{ type: 'AdminKeysReleased', data: { organizationId, keys, domain } }];
};
