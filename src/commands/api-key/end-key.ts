import { apiKey } from '../../domain/api-key/api-key.ts';
import {
  deleteKey as decideDeleteKey,
  expireKey as decideExpireKey,
  revokeKey as decideRevokeKey,
} from '../../domain/api-key/end-key.ts';
import { apiKeyStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, internalOrigin, type Origin } from '../context.ts';
import { execute, load } from '../execute.ts';
import { changeKey, type KeyAtRevision, type KeyChange } from './change-key.ts';

/** Ends a key and all its secrets. @throws {DomainError} of `changeKey`; `permission_missing`, `key_not_active`. */
export const revokeKey = (context: CommandContext, origin: Origin, change: KeyChange): Promise<KeyAtRevision> =>
  changeKey(context, origin, {
    ...change,
    decide: (state, circumstances) =>
      decideRevokeKey(state, { ...circumstances, by: change.by, organizationId: origin.organizationId }),
  });

/** Ends a key and removes it from the lists. @throws {DomainError} of `changeKey`; `permission_missing`. */
export const deleteKey = (context: CommandContext, origin: Origin, change: KeyChange): Promise<KeyAtRevision> =>
  changeKey(context, origin, {
    ...change,
    decide: (state) => decideDeleteKey(state, { by: change.by, organizationId: origin.organizationId }),
  });

/** Records that a key has expired, once. */
export const expireKey = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { keyId, actor }: { readonly keyId: string; readonly actor: string },
): Promise<void> => {
  const { store, system } = context;
  const stream = apiKeyStream(keyId);
  const known = await load(store, apiKey, stream);
  if (known.state.status === 'absent') return;
  const { organizationId, environment } = known.state;
  const now = system.now().toISOString();
  const origin = internalOrigin({ actor, organizationId, environment, causeId: system.uuid() });
  await execute(context, {
    aggregate: apiKey,
    stream,
    known,
    context: eventContext(origin, now),
    decide: (state) => decideExpireKey(state, now),
  });
};
