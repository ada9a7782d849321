import type { ApiKeyEvent } from '../events.ts';
import { requireOwn } from '../ownership.ts';
import { Refusal } from '../refusal.ts';
import type { ApiKey } from './api-key.ts';
import { type KeyAuthority, requireKeyAuthority } from './key-authority.ts';

export interface RevokeKey {
  readonly by: KeyAuthority;
  readonly organizationId: string;
  /** Whether another usable admin key would remain; only asked of a key that holds `admin`. */
  readonly anotherAdminKeyRemains: boolean;
}

/** Revoking twice is refused. @throws {Refusal} `not_found`, `other_organization`, `key_not_active`, `last_admin_key`. */
export const revokeKey = (state: ApiKey, command: RevokeKey): readonly ApiKeyEvent[] => {
  const key = requireOwn(state, command.organizationId, 'API key');
  requireKeyAuthority(command.by, key);
  if (key.status === 'revoked') throw new Refusal('key_not_active', 'API key is revoked already');
  if (command.by !== 'operator' && key.permissions.includes('admin') && !command.anotherAdminKeyRemains) {
    throw new Refusal('last_admin_key', 'this is the last usable admin key of the organization');
  }
  return [{ type: 'KeyRevoked', data: { keyId: key.keyId } }];
};
