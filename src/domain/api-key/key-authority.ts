import type { Caller } from '../caller.ts';
import { DomainError } from '../domain-error.ts';
import type { Environment } from '../environment.ts';
import type { Permission } from './permissions.ts';

/** The operator's command line acts with no key and may do all of this. */
export type KeyAuthority = Caller | 'operator';

const isAdmin = (by: KeyAuthority): boolean => by === 'operator' || by.permissions.includes('admin');

/**
 * Who may make or touch a key: one that holds `admin` only by `admin`, a live one only by a live key.
 * @throws {DomainError} `permission_missing` or `environment_not_allowed`.
 */
export const requireKeyAuthority = (
  by: KeyAuthority,
  key: { readonly permissions: readonly Permission[]; readonly environment: Environment },
): void => {
  if (key.permissions.includes('admin') && !isAdmin(by)) {
    throw new DomainError('permission_missing', "API key lacks 'admin' permission");
  }
  if (by !== 'operator' && key.environment === 'live' && by.environment === 'test') {
    throw new DomainError('environment_not_allowed', 'a test key cannot create or change live keys: use a live key');
  }
};

/** Who may say how often a key may ask. @throws {DomainError} `permission_missing`. */
export const requireLimitAuthority = (by: KeyAuthority): void => {
  if (!isAdmin(by)) {
    throw new DomainError('permission_missing', "API key lacks 'admin' permission: it cannot set rate_limits");
  }
};
