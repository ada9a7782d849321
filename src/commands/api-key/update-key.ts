import { updateKey as decideUpdateKey, type KeyChanges } from '../../domain/api-key/update-key.ts';
import type { CommandContext, Origin } from '../context.ts';
import { changeKey, type KeyAtRevision, type KeyChange } from './change-key.ts';

export interface UpdateKey extends KeyChange {
  readonly changes: KeyChanges;
  /** The networks in `changes` leave out the address that this is asked from. */
  readonly leavesOutRequester: boolean;
}

/**
 * Changes a key's name, permissions, limits, networks or expiry.
 * @throws {DomainError} of `changeKey`; `permission_missing`, `key_not_active`.
 */
export const updateKey = (
  context: CommandContext,
  origin: Origin,
  { changes, leavesOutRequester, ...change }: UpdateKey,
): Promise<KeyAtRevision> =>
  changeKey(context, origin, {
    ...change,
    decide: (state, circumstances) =>
      decideUpdateKey(state, { ...circumstances, changes, by: change.by, organizationId: origin.organizationId }),
    shutsOut: (events) =>
      leavesOutRequester && events.some(({ type, data }) => type === 'KeyUpdated' && data.allowedCidrs !== undefined),
  });
