import type { ApiKeyEvent } from '../events.ts';
import { Refusal } from '../refusal.ts';
import type { ApiKey, ExistingApiKey } from './api-key.ts';
import { type KeyAuthority, requireKeyAuthority, requireLimitAuthority } from './key-authority.ts';

/** The key as it will be; whose it is and since when is in the event's metadata. */
export interface CreateKey
  extends Omit<ExistingApiKey, 'status' | 'organizationId' | 'createdAt' | 'earlierSecrets' | 'expiryNoted'> {
  readonly by: KeyAuthority;
}

/** @throws {Refusal} `permission_missing`, `environment_not_allowed`. */
export const createKey = (state: ApiKey, { by, ...key }: CreateKey): readonly ApiKeyEvent[] => {
  if (state.status !== 'absent') throw new Refusal('resource_conflict', 'API key exists already');
  requireKeyAuthority(by, key);
  if (Object.keys(key.rateLimits).length > 0) requireLimitAuthority(by);
  return [
    {
      type: 'KeyCreated',
      data: { ...key, permissions: [...key.permissions], allowedCidrs: [...key.allowedCidrs] },
    },
  ];
};
