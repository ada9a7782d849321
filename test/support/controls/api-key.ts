import type { Caller } from '../../../src/domain/api-key/caller.ts';
import type { SecretFacts } from '../../../src/domain/api-key/secret.ts';
import type { ApiKeyEvent } from '../../../src/domain/kernel/events.ts';

export const secretNumber = (number: number): SecretFacts => ({
  hash: String(number).padStart(64, '0'),
  first4: `f${number}`.padEnd(4, '_'),
  last4: `l${number}`.padEnd(4, '_'),
});

type Created = Extract<ApiKeyEvent, { type: 'KeyCreated' }>;

export const keyCreated = (data: Partial<Created['data']> = {}): Created => ({
  type: 'KeyCreated',
  data: {
    keyId: 'key_1',
    domainId: 'dom_1',
    name: 'server',
    permissions: ['send'],
    environment: 'live',
    rateLimits: {},
    allowedCidrs: [],
    expiresAt: null,
    secret: secretNumber(0),
    ...data,
  },
});

export const keyRotated = (number: number, previousExpiresAt: string, revokesPrevious = false): ApiKeyEvent => ({
  type: 'KeyRotated',
  data: { keyId: 'key_1', secret: secretNumber(number), previousExpiresAt, revokesPrevious },
});

type Updated = Extract<ApiKeyEvent, { type: 'KeyUpdated' }>;

export const keyUpdated = (changes: Omit<Updated['data'], 'keyId'>): Updated => ({
  type: 'KeyUpdated',
  data: { keyId: 'key_1', ...changes },
});

export const keyRevoked: ApiKeyEvent = { type: 'KeyRevoked', data: { keyId: 'key_1' } };
export const keyExpired: ApiKeyEvent = { type: 'KeyExpired', data: { keyId: 'key_1' } };
export const keyDeleted: ApiKeyEvent = { type: 'KeyDeleted', data: { keyId: 'key_1' } };

/** The first secret of a key, and unrestricted bounds. */
export const UNBOUNDED: Pick<Caller, 'secret' | 'bounds'> = {
  secret: 1,
  bounds: { allowedCidrs: [], expiresAt: null, rateLimits: {} },
};

export const callerWith = (changes: Partial<Caller> = {}): Caller => ({
  keyId: 'key_caller',
  organizationId: 'org_mine',
  environment: 'live',
  permissions: ['manage'],
  ...UNBOUNDED,
  domain: { id: 'dom_1', name: 'example.test', verified: true },
  ...changes,
});
