import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { ApiKeyEvent } from '../kernel/events.ts';
import type { Environment } from '../kernel/ids.ts';
import type { RateLimits } from '../kernel/rate-limits.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { Permission } from './events.ts';
import type { SecretFacts } from './secret.ts';

/** A key's secrets are numbered from 1. Each rotation adds one. */
export interface NumberedSecret extends SecretFacts {
  readonly number: number;
}

/** A replaced secret that is still accepted until it expires. */
export interface EarlierSecret extends NumberedSecret {
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

type Rotated = Extract<ApiKeyEvent, { type: 'KeyRotated' }>['data'];

/** Drops expired secrets, because a key may be rotated for years. */
const rotated = (state: ExistingApiKey, data: Rotated, occurredAt: string): ExistingApiKey => {
  const kept = data.revokesPrevious ? [] : liveEarlierSecrets(state, occurredAt);
  const previous = { ...state.secret, expiresAt: data.previousExpiresAt };
  return { ...state, secret: { ...data.secret, number: state.secret.number + 1 }, earlierSecrets: [...kept, previous] };
};

type Updated = Extract<ApiKeyEvent, { type: 'KeyUpdated' }>['data'];

const updated = (state: ExistingApiKey, { keyId: _, expiresAt = state.expiresAt, ...changes }: Updated) => ({
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
        return rotated(state, event.data, context.occurredAt);
      case 'KeyUpdated':
        return updated(state, event.data);
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
export const requireNotEnded = (key: ExistingApiKey, { endedWithDomain }: KeyCircumstances): void => {
  if (key.status === 'revoked')
    throw new DomainError('key_not_active', 'API key is revoked: create a new one in its place');
  if (endedWithDomain)
    throw new DomainError(
      'key_not_active',
      'API key ended when its domain was deleted: create a new one on another domain',
    );
};

/** @throws {DomainError} `key_not_active`. */
export const requireNotExpired = (key: ExistingApiKey, { now }: KeyCircumstances): void => {
  if (isExpired(key, now))
    throw new DomainError('key_not_active', 'API key is expired: give it another expires_at first');
};
