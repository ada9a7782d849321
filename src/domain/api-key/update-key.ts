import { canonicalJson } from '../../lib/transparency/transparency.ts';
import type { ApiKeyEvent } from '../kernel/events.ts';
import type { RateLimits } from '../kernel/rate-limits.ts';
import {
  type ApiKey,
  type ExistingApiKey,
  type KeyCircumstances,
  requireNotEnded,
  requireNotExpired,
  requireOwnKey,
} from './api-key.ts';
import type { Permission } from './events.ts';
import {
  type KeyAuthority,
  requireKeyAuthority,
  requireLimitAuthority,
  requireWithin,
  widens,
} from './key-authority.ts';

/** Requested changes. Absent fields are unchanged. */
export interface KeyChanges {
  readonly name?: string;
  readonly permissions?: readonly Permission[];
  /** Merged by kind: a number replaces the limit, null restores the default. */
  readonly rateLimits?: { readonly [Kind in keyof RateLimits]?: number | null | undefined };
  readonly allowedCidrs?: readonly string[];
  /** Must be in the future; null: never. */
  readonly expiresAt?: string | null;
}

export interface UpdateKey extends KeyCircumstances {
  readonly by: KeyAuthority;
  readonly organizationId: string;
  readonly changes: KeyChanges;
}

type Updated = Extract<ApiKeyEvent, { readonly type: 'KeyUpdated' }>['data'];

const limitsAfter = (limits: RateLimits, changes: KeyChanges['rateLimits']): RateLimits =>
  Object.fromEntries(Object.entries({ ...limits, ...changes }).filter(([, limit]) => limit != null));

/** Sorted and without duplicates: order and repetition mean nothing in permissions and networks. */
const comparable = (value: unknown): string =>
  canonicalJson(Array.isArray(value) ? [...new Set(value)].sort() : (value ?? null));

/** The requested values that differ from the key's. */
const differences = (key: ExistingApiKey, { permissions, allowedCidrs, rateLimits, ...rest }: KeyChanges) => {
  const wanted: Omit<Updated, 'keyId'> = {
    ...rest,
    ...(permissions === undefined ? {} : { permissions: [...permissions] }),
    ...(allowedCidrs === undefined ? {} : { allowedCidrs: [...allowedCidrs] }),
    ...(rateLimits === undefined ? {} : { rateLimits: limitsAfter(key.rateLimits, rateLimits) }),
  };
  const entries = Object.entries(wanted) as [keyof typeof wanted, unknown][];
  return Object.fromEntries(entries.filter(([field, value]) => comparable(value) !== comparable(key[field])));
};

/**
 * Changes a key's name, permissions, bounds or expiry. An expired key can only be changed together with a new expiry.
 * Values that the key already has are not changes.
 * @throws {DomainError} `not_found`, `other_organization`, `permission_missing`, `environment_not_allowed`,
 * `wider_than_own_key`, `key_not_active`.
 */
export const updateKey = (state: ApiKey, command: UpdateKey): readonly ApiKeyEvent[] => {
  const { by, organizationId, changes } = command;
  const key = requireOwnKey(state, organizationId);
  requireKeyAuthority(by, key);
  requireKeyAuthority(by, { ...key, permissions: changes.permissions ?? [] });
  if (changes.rateLimits !== undefined) requireLimitAuthority(by);
  requireNotEnded(key, command);
  if (changes.expiresAt === undefined) requireNotExpired(key, command);
  const different = differences(key, changes);
  const after = { ...key, ...different };
  if (widens(key, after)) requireWithin(by, after);
  return Object.keys(different).length === 0 ? [] : [{ type: 'KeyUpdated', data: { keyId: key.keyId, ...different } }];
};
