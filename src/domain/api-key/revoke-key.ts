import { DomainError } from '../domain-error.ts';
import type { ApiKeyEvent } from '../events.ts';
import type { ApiKey } from './api-key.ts';
import { type KeyAuthority, requireKeyAuthority } from './key-authority.ts';
import { type KeyCircumstances, requireNotEnded } from './key-life.ts';
import { requireOwnKey } from './own-key.ts';

export interface RevokeKey extends KeyCircumstances {
  readonly by: KeyAuthority;
  readonly organizationId: string;
}

/** Revoking twice is refused. @throws {DomainError} `not_found`, `other_organization`, `permission_missing`, `key_not_active`. */
export const revokeKey = (state: ApiKey, command: RevokeKey): readonly ApiKeyEvent[] => {
  const key = requireOwnKey(state, command.organizationId);
  requireKeyAuthority(command.by, key);
  if (key.status === 'revoked')
    throw new DomainError('key_not_active', 'API key is revoked already: nothing is left to do');
  requireNotEnded(key, command);
  return [{ type: 'KeyRevoked', data: { keyId: key.keyId } }];
};
