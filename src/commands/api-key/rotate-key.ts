import type { ExistingApiKey } from '../../domain/api-key/api-key.ts';
import { type RotateKey as Decision, rotateKey as decideRotateKey } from '../../domain/api-key/rotate-key.ts';
import { formatSecret, SECRET_RANDOM_BYTES, secretFacts } from '../../domain/api-key/secret.ts';
import type { CommandContext, Origin } from '../context.ts';
import { changeKey, type KeyChange } from './change-key.ts';
import type { KeyWithValue } from './create-key.ts';

export interface RotateKey extends KeyChange, Pick<Decision, 'gracePeriodMinutes' | 'revokePrevious'> {
  /** Chosen by the operator. Absent: generated. */
  readonly value?: string;
}

export interface RotatedKey extends KeyWithValue {
  readonly previousKeyExpiresAt: string;
}

/**
 * Gives a key a new secret; the old one works until its grace period ends (spec §4).
 * @throws {DomainError} of `changeKey`; `permission_missing`, `key_not_active`, `too_many_live_secrets`.
 */
export const rotateKey = async (context: CommandContext, origin: Origin, command: RotateKey): Promise<RotatedKey> => {
  const { value: given, gracePeriodMinutes, revokePrevious, ...change } = command;
  const random = context.system.randomBytes(SECRET_RANDOM_BYTES);
  const valueFor = ({ environment }: ExistingApiKey): string => given ?? formatSecret(environment, random);
  const { key, revision } = await changeKey(context, origin, {
    ...change,
    decide: (before, circumstances) =>
      decideRotateKey(before, {
        ...circumstances,
        by: change.by,
        gracePeriodMinutes,
        revokePrevious,
        organizationId: origin.organizationId,
        secret: secretFacts(valueFor(before)),
      }),
  });
  // The rotation added the earlier secret.
  return {
    key,
    value: valueFor(key),
    revision,
    previousKeyExpiresAt: key.earlierSecrets.at(-1)?.expiresAt ?? key.createdAt,
  };
};
