import { DomainError } from '../kernel/errors.ts';
import type { ApiKeyEvent } from '../kernel/events.ts';
import { type ApiKey, isExpired, type KeyCircumstances, requireNotEnded, requireOwnKey } from './api-key.ts';
import { type KeyAuthority, requireKeyAuthority } from './key-authority.ts';

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
  if (key.status === 'revoked')
    throw new DomainError('key_not_active', 'API key is revoked already: nothing is left to do');
  requireNotEnded(key, command);
  return [{ type: 'KeyRevoked', data: { keyId: key.keyId } }];
};

export interface DeleteKey {
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
