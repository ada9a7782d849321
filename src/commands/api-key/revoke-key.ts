import { apiKey, apiKeyStream, type ExistingApiKey } from '../../domain/api-key/api-key.ts';
import type { KeyAuthority } from '../../domain/api-key/key-authority.ts';
import { revokeKey as decide } from '../../domain/api-key/revoke-key.ts';
import { requireOwn } from '../../domain/ownership.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute, load } from '../execute.ts';

export interface RevokeKey extends Condition {
  readonly by: KeyAuthority;
  readonly keyId: string;
  /** Other admin keys of the organization that work at this moment, by id. */
  readonly otherAdminKeys: readonly string[];
}

/**
 * Ends a key and all its secrets.
 * @throws {Refusal} `not_found`, `other_organization`, `key_not_active`, `last_admin_key`, `permission_missing`,
 * `precondition_failed`.
 */
export const revokeKey = async (
  context: CommandContext,
  origin: Origin,
  { by, keyId, otherAdminKeys, ...condition }: RevokeKey,
): Promise<{ readonly key: ExistingApiKey; readonly revision: number }> => {
  const stream = apiKeyStream(keyId);
  const known = await load(context.store, apiKey, stream);
  const { environment } = requireOwn(known.state, origin.organizationId, 'API key');
  const { state, revision } = await execute(context, {
    aggregate: apiKey,
    stream,
    context: eventContext({ ...origin, environment }, context.system.now().toISOString()),
    decide: (before) =>
      decide(before, {
        ...{ by, organizationId: origin.organizationId },
        anotherAdminKeyRemains: otherAdminKeys.length > 0,
      }),
    known,
    ...condition,
  });
  return { key: requireOwn(state, origin.organizationId, 'API key'), revision: Number(revision) };
};
