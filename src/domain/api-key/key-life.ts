import { DomainError } from '../domain-error.ts';
import type { ExistingApiKey } from './api-key.ts';

/** Facts about a key that its own stream does not tell. */
export interface KeyCircumstances {
  /** ISO 8601. */
  readonly now: string;
  /** Its domain was deleted: the key ended with it. */
  readonly endedWithDomain: boolean;
}

export const isExpired = ({ expiresAt }: ExistingApiKey, now: string): boolean =>
  expiresAt !== null && expiresAt <= now;

/** Whether the key opens the door. */
export const works = (key: ExistingApiKey, { now, endedWithDomain }: KeyCircumstances): boolean =>
  key.status === 'active' && !endedWithDomain && !isExpired(key, now);

/** A key that has ended for good is not changed any more. @throws {DomainError} `key_not_active`. */
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
