import { canonicalJson } from '../../lib/transparency/transparency.ts';
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import type { Environment } from '../kernel/environment.ts';
import { DomainError } from '../kernel/errors.ts';
import type { ApiKeyEvent } from '../kernel/events.ts';
import type { RateLimits } from '../kernel/rate-limits.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import {
  inheritBounds,
  type KeyAuthority,
  type KeyBounds,
  requireKeyAuthority,
  requireLimitAuthority,
  requireWithin,
  widens,
} from './caller.ts';
import type { Permission } from './events.ts';
import type { SecretFacts } from './secret.ts';

/** A key's secrets are numbered from 1. Each rotation adds one. */
interface NumberedSecret extends SecretFacts {
  readonly number: number;
}

/** A replaced secret that is still accepted until it expires. */
interface EarlierSecret extends NumberedSecret {
  readonly expiresAt: string;
}

export interface ExistingApiKey {
  readonly status: 'active' | 'revoked' | 'deleted';
  readonly keyId: string;
  readonly organizationId: string;
  readonly domainId: string;
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly environment: Environment;
  readonly rateLimits: RateLimits;
  readonly allowedCidrs: readonly string[];
  readonly expiresAt: string | null;
  /** True if the key's expiry was recorded as an event. */
  readonly expiryNoted: boolean;
  readonly createdAt: string;
  readonly secret: NumberedSecret;
  readonly earlierSecrets: readonly EarlierSecret[];
}

export type ApiKey = { readonly status: 'absent' } | ExistingApiKey;

/** Earlier secrets that are still accepted. */
export const liveEarlierSecrets = (state: ExistingApiKey, now: string): readonly EarlierSecret[] =>
  state.earlierSecrets.filter(({ expiresAt }) => expiresAt > now);

type KeyRotatedData = Extract<ApiKeyEvent, { type: 'KeyRotated' }>['data'];

/** Drops expired secrets, because a key may be rotated for years. */
const applyRotation = (state: ExistingApiKey, data: KeyRotatedData, occurredAt: string): ExistingApiKey => {
  const kept = data.revokesPrevious ? [] : liveEarlierSecrets(state, occurredAt);
  const previous = { ...state.secret, expiresAt: data.previousExpiresAt };
  return { ...state, secret: { ...data.secret, number: state.secret.number + 1 }, earlierSecrets: [...kept, previous] };
};

type KeyUpdatedData = Extract<ApiKeyEvent, { type: 'KeyUpdated' }>['data'];

const applyUpdate = (state: ExistingApiKey, { keyId: _, expiresAt = state.expiresAt, ...changes }: KeyUpdatedData) => ({
  ...state,
  ...Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)),
  expiresAt,
  expiryNoted: state.expiryNoted && expiresAt === state.expiresAt,
});

export const apiKey: Aggregate<ApiKey, ApiKeyEvent> = {
  category: CATEGORIES.apiKey,
  initial: { status: 'absent' },
  evolve: (state, event, context) => {
    if (event.type === 'KeyCreated') {
      const { organizationId, occurredAt } = context;
      return {
        status: 'active',
        ...event.data,
        organizationId,
        createdAt: occurredAt,
        secret: { ...event.data.secret, number: 1 },
        earlierSecrets: [],
        expiryNoted: false,
      };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'KeyRotated':
        return applyRotation(state, event.data, context.occurredAt);
      case 'KeyUpdated':
        return applyUpdate(state, event.data);
      case 'KeyExpired':
        return { ...state, expiryNoted: true };
      case 'KeyDeleted':
        return { ...state, status: 'deleted', earlierSecrets: [] };
      case 'KeyRevoked':
        return { ...state, status: 'revoked', earlierSecrets: [] };
      default:
        return event satisfies never;
    }
  },
};

/**
 * Returns the key if it belongs to the caller and was not deleted.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireOwnKey = (state: ApiKey, organizationId: string): ExistingApiKey => {
  const key = requireOwn(state, organizationId, 'API key');
  if (key.status === 'deleted') throw new DomainError('not_found', 'API key not found');
  return key;
};

/** Facts about a key that are not in its own stream. */
export interface KeyCircumstances {
  /** ISO 8601. */
  readonly now: string;
  /** True if the key's domain was deleted, which ends the key. */
  readonly endedWithDomain: boolean;
}

export const isExpired = ({ expiresAt }: ExistingApiKey, now: string): boolean =>
  expiresAt !== null && expiresAt <= now;

/** Whether the key authenticates requests. */
export const works = (key: ExistingApiKey, { now, endedWithDomain }: KeyCircumstances): boolean =>
  key.status === 'active' && !endedWithDomain && !isExpired(key, now);

/** Rejects changes of a key that has ended for good. @throws {DomainError} `key_not_active`. */
const requireNotEnded = (key: ExistingApiKey, { endedWithDomain }: KeyCircumstances): void => {
  if (key.status === 'revoked') throw new DomainError('key_not_active', 'API key is revoked: create a new one instead');
  if (endedWithDomain)
    throw new DomainError(
      'key_not_active',
      'API key ended when its domain was deleted: create a new one for another domain',
    );
};

/** @throws {DomainError} `key_not_active`. */
const requireNotExpired = (key: ExistingApiKey, { now }: KeyCircumstances): void => {
  if (isExpired(key, now)) throw new DomainError('key_not_active', 'API key has expired: set a new expires_at first');
};

/**
 * Properties of the new key. Its owner and creation time are in the event's metadata. Omitted bounds default to the
 * caller's.
 */
export interface CreateKey
  extends Pick<ExistingApiKey, 'keyId' | 'domainId' | 'name' | 'permissions' | 'environment'>,
    Partial<KeyBounds> {
  readonly by: KeyAuthority;
  readonly secret: SecretFacts;
}

/** @throws {DomainError} `permission_missing`, `environment_not_allowed`, `wider_than_own_key`. */
export const createKey = (state: ApiKey, { by, ...key }: CreateKey): readonly ApiKeyEvent[] => {
  if (state.status !== 'absent') throw new DomainError('resource_conflict', 'API key already exists');
  requireKeyAuthority(by, key);
  if (Object.keys(key.rateLimits ?? {}).length > 0) requireLimitAuthority(by);
  const bounds = inheritBounds(by, key);
  requireWithin(by, bounds);
  return [
    {
      type: 'KeyCreated',
      data: {
        keyId: key.keyId,
        domainId: key.domainId,
        name: key.name,
        permissions: [...key.permissions],
        environment: key.environment,
        rateLimits: bounds.rateLimits,
        allowedCidrs: [...bounds.allowedCidrs],
        expiresAt: bounds.expiresAt,
        secret: key.secret,
      },
    },
  ];
};

/**
 * Maximum earlier secrets that are still accepted. Higher: each is one more that can leak. Lower: a slow roll-out
 * blocks the next rotation.
 */
const EARLIER_SECRETS_MAX = 2;
/** Seven days. */
export const GRACE_PERIOD_MINUTES_MAX = 10_080;
export const GRACE_PERIOD_MINUTES_DEFAULT = 1440;

export interface RotateKey extends KeyCircumstances {
  readonly by: KeyAuthority;
  readonly organizationId: string;
  readonly secret: SecretFacts;
  readonly gracePeriodMinutes: number;
  readonly revokePrevious: boolean;
}

const MINUTE_MS = 60_000;

/**
 * Replaces the secret; the key keeps its id and expiry. The previous secret ends with its grace period. Rotation
 * reveals the new value, so the key must stay within the bounds of the caller.
 * @throws {DomainError} `not_found`, `other_organization`, `permission_missing`, `wider_than_own_key`,
 * `key_not_active`, `too_many_live_secrets`.
 */
export const rotateKey = (state: ApiKey, command: RotateKey): readonly ApiKeyEvent[] => {
  const key = requireOwnKey(state, command.organizationId);
  requireKeyAuthority(command.by, key);
  requireWithin(command.by, key);
  requireNotEnded(key, command);
  requireNotExpired(key, command);
  const endsNow = command.revokePrevious || command.gracePeriodMinutes === 0;
  if (!endsNow && liveEarlierSecrets(key, command.now).length >= EARLIER_SECRETS_MAX) {
    throw new DomainError(
      'too_many_live_secrets',
      `API key already has ${EARLIER_SECRETS_MAX} earlier secrets that still work: wait until one ends, or rotate with grace_period_minutes 0 or revoke_previous true`,
    );
  }
  const graceMs = endsNow ? 0 : command.gracePeriodMinutes * MINUTE_MS;
  const previousExpiresAt = new Date(Date.parse(command.now) + graceMs).toISOString();
  return [
    {
      type: 'KeyRotated',
      data: { keyId: key.keyId, secret: command.secret, previousExpiresAt, revokesPrevious: command.revokePrevious },
    },
  ];
};

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

const limitsAfter = (limits: RateLimits, changes: KeyChanges['rateLimits']): RateLimits =>
  Object.fromEntries(Object.entries({ ...limits, ...changes }).filter(([, limit]) => limit != null));

/** Sorted and without duplicates: order and repetition mean nothing in permissions and networks. */
const comparable = (value: unknown): string =>
  canonicalJson(Array.isArray(value) ? [...new Set(value)].sort() : (value ?? null));

/** The requested values that differ from the key's. */
const differences = (key: ExistingApiKey, { permissions, allowedCidrs, rateLimits, ...rest }: KeyChanges) => {
  const wanted: Omit<KeyUpdatedData, 'keyId'> = {
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

export interface RevokeKey extends KeyCircumstances {
  readonly by: KeyAuthority;
  readonly organizationId: string;
}

/**
 * Rejects a second revocation.
 * @throws {DomainError} `not_found`, `other_organization`, `permission_missing`, `key_not_active`.
 */
export const revokeKey = (state: ApiKey, command: RevokeKey): readonly ApiKeyEvent[] => {
  const key = requireOwnKey(state, command.organizationId);
  requireKeyAuthority(command.by, key);
  if (key.status === 'revoked') throw new DomainError('key_not_active', 'API key is already revoked');
  requireNotEnded(key, command);
  return [{ type: 'KeyRevoked', data: { keyId: key.keyId } }];
};

interface DeleteKey {
  readonly by: KeyAuthority;
  readonly organizationId: string;
}

/**
 * Deletes a key in any state and hides it; its history remains.
 * @throws {DomainError} `not_found`, `other_organization`, `permission_missing`.
 */
export const deleteKey = (state: ApiKey, { by, organizationId }: DeleteKey): readonly ApiKeyEvent[] => {
  const key = requireOwnKey(state, organizationId);
  requireKeyAuthority(by, key);
  return [{ type: 'KeyDeleted', data: { keyId: key.keyId } }];
};

/** Records once that the key has expired. @param now ISO 8601. */
export const expireKey = (state: ApiKey, now: string): readonly ApiKeyEvent[] =>
  state.status === 'active' && !state.expiryNoted && isExpired(state, now)
    ? [{ type: 'KeyExpired', data: { keyId: state.keyId } }]
    : [];
