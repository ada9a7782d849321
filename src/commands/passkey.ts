import { formatId, ID_BYTES } from '../domain/kernel/ids.ts';
import { membersStream } from '../domain/kernel/streams.ts';
import {
  type AddPasskey,
  addPasskey as decideAddPasskey,
  removePasskey as decideRemove,
  members,
  type Passkey,
  requireMember,
} from '../domain/member/member.ts';
import { type CommandContext, eventContext, type Origin } from './context.ts';
import { execute, load } from './execute.ts';

type Context = Pick<CommandContext, 'store' | 'system'>;

const contextOf = ({ system }: Context, origin: Origin) =>
  eventContext({ ...origin, environment: null }, system.now().toISOString());

/** In the order in which they were added. @throws {DomainError} `not_found` the member was removed. */
export const listPasskeys = async (
  { store }: Pick<Context, 'store'>,
  organizationId: string,
  memberId: string,
): Promise<readonly Passkey[]> =>
  requireMember((await load(store, members, membersStream(organizationId))).state, memberId).passkeys;

/**
 * Adds a passkey. The caller has verified it.
 * @throws {DomainError} `not_found`, `too_many_passkeys`, `resource_conflict`.
 */
export const addPasskey = async (
  context: Context,
  origin: Origin,
  added: Omit<AddPasskey, 'passkeyId'>,
): Promise<Passkey> => {
  const passkeyId = formatId('psk', context.system.randomBytes(ID_BYTES));
  const { state } = await execute(context, {
    aggregate: members,
    stream: membersStream(origin.organizationId),
    context: contextOf(context, origin),
    decide: (found) => decideAddPasskey(found, { ...added, passkeyId }),
  });
  const passkey = requireMember(state, added.memberId).passkeys.find((one) => one.passkeyId === passkeyId);
  if (passkey === undefined) throw new Error('what was added is there');
  return passkey;
};

/** It signs in no more, at once; open sessions stay. @throws {DomainError} `not_found`, `resource_conflict`. */
export const removePasskey = async (
  context: Context,
  origin: Origin,
  removed: { readonly memberId: string; readonly passkeyId: string },
): Promise<void> => {
  await execute(context, {
    aggregate: members,
    stream: membersStream(origin.organizationId),
    context: contextOf(context, origin),
    decide: (state) => decideRemove(state, removed),
  });
};
