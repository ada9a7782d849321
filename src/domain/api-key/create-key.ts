import { DomainError } from '../kernel/errors.ts';
import type { ApiKeyEvent } from '../kernel/events.ts';
import type { ApiKey, ExistingApiKey } from './api-key.ts';
import {
  inheritBounds,
  type KeyAuthority,
  type KeyBounds,
  requireKeyAuthority,
  requireLimitAuthority,
  requireWithin,
} from './key-authority.ts';
import type { SecretFacts } from './secret.ts';

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
  if (state.status !== 'absent') throw new DomainError('resource_conflict', 'API key exists already');
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
