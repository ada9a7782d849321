import type { Caller } from '../../domain/api-key/key-authority.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { isPresent } from '../../domain/member/session.ts';
import type { GuardedRoute } from '../route-rules.ts';
import type { AuthContext } from './authenticate.ts';

/** Presence of members (step-up): what a browser that was left open must not allow needs a proof of who it is, not long ago. */

interface Asked {
  readonly caller: Caller;
  /** Authenticates again, up to the log: another process may have taken the proof just now. */
  callerNow(): Promise<Caller>;
  /** `:id` of the path. */
  readonly id: string;
  /** Valid. */
  readonly body: unknown;
}

/** Whether it is about a key that holds `admin`, or is to. */
const isOfAdminKey = ({ keyCache }: Pick<AuthContext, 'keyCache'>, { caller, id, body }: Asked): boolean => {
  const { permissions } = body as { readonly permissions?: readonly string[] };
  return permissions?.includes('admin') === true || keyCache.isAdminKey(caller.organizationId, id);
};

/** @throws {DomainError} `presence_required`. */
export const requirePresence = async (
  auth: Pick<AuthContext, 'keyCache' | 'system'>,
  { presence }: Pick<GuardedRoute, 'presence'>,
  asked: Asked,
): Promise<void> => {
  const { caller, callerNow } = asked;
  if (presence === undefined || caller.member === undefined) return;
  if (presence === 'ofAdminKeys' && !isOfAdminKey(auth, asked)) return;
  if (isPresent(caller.member, auth.system.now())) return;
  const { member } = await callerNow();
  if (member !== undefined && isPresent(member, auth.system.now())) return;
  throw new DomainError(
    'presence_required',
    'prove again who you are, with a passkey or a fresh link, and repeat this: it needs you to be present',
  );
};
