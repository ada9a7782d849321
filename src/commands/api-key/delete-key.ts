import { deleteKey as decideDeleteKey } from '../../domain/api-key/delete-key.ts';
import type { CommandContext, Origin } from '../context.ts';
import { changeKey, type KeyAtRevision, type KeyChange } from './change-key.ts';

/** Ends a key and takes it out of sight. @throws {DomainError} of `changeKey`; `permission_missing`. */
export const deleteKey = (context: CommandContext, origin: Origin, change: KeyChange): Promise<KeyAtRevision> =>
  changeKey(context, origin, {
    ...change,
    decide: (state) => decideDeleteKey(state, { by: change.by, organizationId: origin.organizationId }),
  });
