import type { Caller, CallingMember } from '../../domain/api-key/key-authority.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { presenceRequired } from '../../domain/member/member.ts';
import { isPresent } from '../../domain/member/session.ts';
import type { GuardedRoute } from '../route-rules.ts';
import type { AuthContext } from './authenticate.ts';

/** Presence of members (step-up): what a browser that was left open must not allow needs a proof of who it is, not long ago. */

interface PresenceCall {
  readonly caller: Caller;
  /** Authenticates again, up to the log: another process may have just accepted the proof. */
  callerNow(): Promise<Caller>;
  /** `:id` of the path. */
  readonly id: string;
  /** Valid. */
  readonly body: unknown;
}

/** Whether it is about a key that holds `admin`, or is to. */
const isOfAdminKey = ({ keyCache }: Pick<AuthContext, 'keyCache'>, { caller, id, body }: PresenceCall): boolean => {
  const { permissions } = body as { readonly permissions?: readonly string[] };
  return permissions?.includes('admin') === true || keyCache.isAdminKey(caller.organizationId, id);
};

type CallerAccess = Pick<PresenceCall, 'caller' | 'callerNow'>;

/** @throws {DomainError} `presence_required`. */
const requirePresent = async (
  { system }: Pick<AuthContext, 'system'>,
  { caller, callerNow }: CallerAccess,
  isAllowed: (member: CallingMember) => boolean = (member) => isPresent(member, system.now()),
): Promise<void> => {
  if (caller.member !== undefined && isAllowed(caller.member)) return;
  const { member } = await callerNow();
  if (member === undefined || !isAllowed(member)) throw presenceRequired();
};

/** The first passkey is the way to show presence: those who got in by a link of the operator may add it for an hour. */
const mayAddFirstPasskey = (
  { system }: Pick<AuthContext, 'system'>,
  { firstPasskeyUntil }: Pick<CallingMember, 'firstPasskeyUntil'>,
): boolean => firstPasskeyUntil !== undefined && system.now().toISOString() < firstPasskeyUntil;

/** @throws {DomainError} `presence_required`. */
export const requirePresence = async (
  auth: Pick<AuthContext, 'keyCache' | 'system'>,
  { presence }: Pick<GuardedRoute, 'presence'>,
  asked: PresenceCall,
): Promise<void> => {
  if (presence === undefined || asked.caller.member === undefined) return;
  if (presence === 'ofAdminKeys' && !isOfAdminKey(auth, asked)) return;
  const isAllowed = (member: CallingMember): boolean =>
    isPresent(member, auth.system.now()) || (presence === 'unlessFirst' && mayAddFirstPasskey(auth, member));
  await requirePresent(auth, asked, isAllowed);
};

/** For what would let its reader become another member. @throws {DomainError} `permission_missing`, `presence_required`. */
export const requireOwnerPresence = async (auth: Pick<AuthContext, 'system'>, asking: CallerAccess): Promise<void> => {
  if (asking.caller.member?.role !== 'owner')
    throw new DomainError('permission_missing', 'this mail lets its recipient sign in: only an owner can read it');
  await requirePresent(auth, asking);
};
