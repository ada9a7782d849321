import { apiKey, apiKeyStream } from '../../domain/api-key/api-key.ts';
import { type RotateKey as Decision, rotateKey as decide } from '../../domain/api-key/rotate-key.ts';
import { formatSecret, SECRET_RANDOM_BYTES, secretFacts } from '../../domain/api-key/secret.ts';
import { requireOwn } from '../../domain/ownership.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute, load } from '../execute.ts';
import type { KeyWithValue } from './create-key.ts';

export interface RotateKey extends Condition, Pick<Decision, 'by' | 'gracePeriodMinutes' | 'revokePrevious'> {
  readonly keyId: string;
  /** A value of the operator's making; made here when absent. */
  readonly value?: string;
}

export interface RotatedKey extends KeyWithValue {
  readonly previousKeyExpiresAt: string;
}

/**
 * Gives a key a new secret; the old one works until its grace period ends (spec §4).
 * @throws {Refusal} `not_found`, `other_organization`, `key_not_active`, `too_many_live_secrets`, `permission_missing`,
 * `precondition_failed`.
 */
export const rotateKey = async (context: CommandContext, origin: Origin, command: RotateKey): Promise<RotatedKey> => {
  const { system, store } = context;
  const { keyId, value: given, by, gracePeriodMinutes, revokePrevious, ...condition } = command;
  const stream = apiKeyStream(keyId);
  const known = await load(store, apiKey, stream);
  const { environment } = requireOwn(known.state, origin.organizationId, 'API key');
  const value = given ?? formatSecret(environment, system.randomBytes(SECRET_RANDOM_BYTES));
  const now = system.now().toISOString();
  const { state, revision } = await execute(context, {
    aggregate: apiKey,
    stream,
    context: eventContext({ ...origin, environment }, now),
    decide: (before) =>
      decide(before, {
        ...{ by, gracePeriodMinutes, revokePrevious, now },
        organizationId: origin.organizationId,
        secret: secretFacts(value),
      }),
    known,
    ...condition,
  });
  const key = requireOwn(state, origin.organizationId, 'API key');
  return { key, value, revision: Number(revision), previousKeyExpiresAt: key.earlierSecrets.at(-1)?.expiresAt ?? now };
};
