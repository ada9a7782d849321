import type { Environment } from '../environment.ts';
import type { ApiKeyEvent } from '../events.ts';
import type { RateLimits } from '../rate-limits.ts';
import { Refusal } from '../refusal.ts';
import type { ApiKey } from './api-key.ts';
import { type KeyAuthority, requireKeyAuthority } from './key-authority.ts';
import type { Permission } from './permissions.ts';
import type { SecretFacts } from './secret.ts';

export interface CreateKey {
  readonly by: KeyAuthority;
  readonly keyId: string;
  readonly domainId: string;
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly environment: Environment;
  readonly rateLimits: RateLimits;
  readonly allowedCidrs: readonly string[];
  readonly expiresAt: string | null;
  readonly secret: SecretFacts;
}

/** @throws {Refusal} `permission_missing`, `environment_not_allowed`. */
export const createKey = (state: ApiKey, { by, ...key }: CreateKey): readonly ApiKeyEvent[] => {
  if (state.status !== 'absent') throw new Refusal('resource_conflict', 'API key exists already');
  requireKeyAuthority(by, key);
  if (Object.keys(key.rateLimits).length > 0 && by !== 'operator' && !by.permissions.includes('admin')) {
    throw new Refusal('permission_missing', "API key lacks 'admin' permission: it cannot set rate_limits");
  }
  return [
    {
      type: 'KeyCreated',
      data: { ...key, permissions: [...key.permissions], allowedCidrs: [...key.allowedCidrs] },
    },
  ];
};
