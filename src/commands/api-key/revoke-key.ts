import { revokeKey as decideRevokeKey } from '../../domain/api-key/revoke-key.ts';
import type { CommandContext, Origin } from '../context.ts';
import { changeKey, type KeyAtRevision, type KeyChange } from './change-key.ts';

/** Ends a key and all its secrets. @throws {DomainError} of `changeKey`; `permission_missing`, `key_not_active`. */
export const revokeKey = (context: CommandContext, origin: Origin, change: KeyChange): Promise<KeyAtRevision> =>
  changeKey(context, origin, {
    ...change,
    decide: (state, circumstances) =>
      decideRevokeKey(state, { ...circumstances, by: change.by, organizationId: origin.organizationId }),
  });
