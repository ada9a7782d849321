import type { Aggregate } from '../decider.ts';
import type { Environment } from '../environment.ts';
import type { StreamName } from '../event-store.ts';
import type { ApiKeyEvent } from '../events.ts';
import type { RateLimits } from '../rate-limits.ts';
import type { Permission } from './permissions.ts';
import type { SecretFacts } from './secret.ts';

/** A secret that was replaced and still opens the door until it ends. */
export interface EarlierSecret extends SecretFacts {
  readonly expiresAt: string;
}

export interface ExistingApiKey {
  readonly status: 'active' | 'revoked';
  readonly keyId: string;
  readonly organizationId: string;
  readonly domainId: string;
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly environment: Environment;
  readonly rateLimits: RateLimits;
  readonly allowedCidrs: readonly string[];
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly secret: SecretFacts;
  readonly earlierSecrets: readonly EarlierSecret[];
}

export type ApiKey = { readonly status: 'absent' } | ExistingApiKey;

export const apiKeyStream = (keyId: string): StreamName => `apiKey-${keyId}`;

/** Secrets that still open the door besides the current one. */
export const liveEarlierSecrets = (state: ExistingApiKey, now: string): readonly EarlierSecret[] =>
  state.earlierSecrets.filter(({ expiresAt }) => expiresAt > now);

type Rotated = Extract<ApiKeyEvent, { type: 'KeyRotated' }>['data'];

const rotated = (state: ExistingApiKey, { secret, previousExpiresAt, revokesPrevious }: Rotated): ExistingApiKey => ({
  ...state,
  secret,
  earlierSecrets: [...(revokesPrevious ? [] : state.earlierSecrets), { ...state.secret, expiresAt: previousExpiresAt }],
});

export const apiKey: Aggregate<ApiKey, ApiKeyEvent> = {
  category: 'apiKey',
  initial: { status: 'absent' },
  evolve: (state, event, context) => {
    if (event.type === 'KeyCreated') {
      const { organizationId, occurredAt } = context;
      return { status: 'active', ...event.data, organizationId, createdAt: occurredAt, earlierSecrets: [] };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'KeyRotated':
        return rotated(state, event.data);
      case 'KeyRevoked':
        return { ...state, status: 'revoked', earlierSecrets: [] };
      default:
        return event satisfies never;
    }
  },
};
