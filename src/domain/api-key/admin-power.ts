import type { KeyCacheState, KeyEntry } from '../key-cache.ts';
import type { Organization } from '../organization/organization.ts';
import type { Revision } from '../ports/event-store.ts';
import type { ExistingApiKey } from './api-key.ts';
import { works } from './key-life.ts';

/** The keys of an organization with which somebody can administer it at this moment. */
export const workingAdminKeys = (keyCache: KeyCacheState, organizationId: string, now: string): readonly KeyEntry[] =>
  [...keyCache.keys.values()].filter(
    ({ key, endedWithDomain }) =>
      key.organizationId === organizationId &&
      key.permissions.includes('admin') &&
      works(key, { now, endedWithDomain }),
  );

/** Whether one key, as long as it works, lets its holder do all that the other does, and for as long. */
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
 * Whether somebody is about to take this key away and has said so. What is known at a later revision than was released
 * is a new matter: either that change was made, and the key shows it, or it can be made no more.
 */
export const isBeingLost = (
  state: Extract<Organization, { readonly status: 'active' }>,
  { key, revision }: KeyEntry,
  keyCache: KeyCacheState,
): boolean =>
  isReleased(state.releasedKeys, key.keyId, revision) ||
  isReleased(state.releasedDomains, key.domainId, keyCache.domains.get(key.domainId)?.revision);
