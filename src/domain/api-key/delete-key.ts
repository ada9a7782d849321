import type { ApiKeyEvent } from '../events.ts';
import type { ApiKey } from './api-key.ts';
import { type KeyAuthority, requireKeyAuthority } from './key-authority.ts';
import { requireOwnKey } from './own-key.ts';

export interface DeleteKey {
  readonly by: KeyAuthority;
  readonly organizationId: string;
}

/**
 * Ends a key, whatever has become of it, and takes it out of sight; its history stays.
 * @throws {DomainError} `not_found`, `other_organization`, `permission_missing`.
 */
export const deleteKey = (state: ApiKey, { by, organizationId }: DeleteKey): readonly ApiKeyEvent[] => {
  const key = requireOwnKey(state, organizationId);
  requireKeyAuthority(by, key);
  return [{ type: 'KeyDeleted', data: { keyId: key.keyId } }];
};
