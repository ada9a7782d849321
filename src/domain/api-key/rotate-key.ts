import { DomainError } from '../kernel/errors.ts';
import type { ApiKeyEvent } from '../kernel/events.ts';
import {
  type ApiKey,
  type KeyCircumstances,
  liveEarlierSecrets,
  requireNotEnded,
  requireNotExpired,
  requireOwnKey,
} from './api-key.ts';
import { type KeyAuthority, requireKeyAuthority, requireWithin } from './key-authority.ts';
import type { SecretFacts } from './secret.ts';

/**
 * Maximum earlier secrets that are still accepted. Higher: each is one more that can leak. Lower: a slow roll-out
 * blocks the next rotation.
 */
export const EARLIER_SECRETS_MAX = 2;
/** Seven days. */
export const GRACE_PERIOD_MINUTES_MAX = 10_080;
export const GRACE_PERIOD_MINUTES_DEFAULT = 1440;

export interface RotateKey extends KeyCircumstances {
  readonly by: KeyAuthority;
  readonly organizationId: string;
  readonly secret: SecretFacts;
  readonly gracePeriodMinutes: number;
  readonly revokePrevious: boolean;
}

const MINUTE_MS = 60_000;

/**
 * Replaces the secret; the key keeps its id and expiry. The previous secret ends with its grace period. Rotation
 * reveals the new value, so the key must stay within the bounds of the caller.
 * @throws {DomainError} `not_found`, `other_organization`, `permission_missing`, `wider_than_own_key`,
 * `key_not_active`, `too_many_live_secrets`.
 */
export const rotateKey = (state: ApiKey, command: RotateKey): readonly ApiKeyEvent[] => {
  const key = requireOwnKey(state, command.organizationId);
  requireKeyAuthority(command.by, key);
  requireWithin(command.by, key);
  requireNotEnded(key, command);
  requireNotExpired(key, command);
  const endsNow = command.revokePrevious || command.gracePeriodMinutes === 0;
  if (!endsNow && liveEarlierSecrets(key, command.now).length >= EARLIER_SECRETS_MAX) {
    throw new DomainError(
      'too_many_live_secrets',
      `API key has ${EARLIER_SECRETS_MAX} earlier secrets that still work: wait until one ends, or rotate with grace_period_minutes 0 or revoke_previous true`,
    );
  }
  const graceMs = endsNow ? 0 : command.gracePeriodMinutes * MINUTE_MS;
  const previousExpiresAt = new Date(Date.parse(command.now) + graceMs).toISOString();
  return [
    {
      type: 'KeyRotated',
      data: { keyId: key.keyId, secret: command.secret, previousExpiresAt, revokesPrevious: command.revokePrevious },
    },
  ];
};
