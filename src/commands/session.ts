import { formatSecret, SECRET_RANDOM_BYTES } from '../domain/api-key/secret.ts';
import { sha256Hex } from '../domain/kernel/digest.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import { formatId, ID_BYTES, isId } from '../domain/kernel/ids.ts';
import { membersStream, sessionStream } from '../domain/kernel/streams.ts';
import type { Proof } from '../domain/member/events.ts';
import {
  type AddPasskey,
  acceptProof,
  addPasskey as decideAddPasskey,
  removePasskey as decideRemove,
  members,
  type Passkey,
  requireMember,
} from '../domain/member/member.ts';
import {
  endSession as decideEndSession,
  provePresence as decideProvePresence,
  startSession as decideStartSession,
  type ExistingSession,
  SESSION_MS,
  session,
  sessionIdOf,
} from '../domain/member/session.ts';
import { type CommandContext, eventContext, execute, load, type Origin } from './execute.ts';

type Context = Pick<CommandContext, 'store' | 'system'>;

const contextOf = ({ system }: Context, origin: Origin) =>
  eventContext({ ...origin, environment: null }, system.now().toISOString());

interface StartSession {
  readonly memberId: string;
  /** Proof of the member's identity. The caller has verified it. */
  readonly proof: Proof;
  /** Signature counter of the passkey. Default: 0, it does not count. */
  readonly counter?: number | undefined;
  /**
   * For the cookie, if it follows from the proof and from what the browser made up: the same again within minutes is
   * answered with the same session, because the answer may have been lost. Default: random.
   */
  readonly value?: string | undefined;
}

/** A session and its cookie value, which is not stored. */
interface StartedSession {
  readonly session: Pick<ExistingSession, 'sessionId' | 'expiresAt'>;
  readonly value: string;
}

/**
 * Starts a session, whatever proved who it is. Its id and its value are new, whatever the browser held before.
 * @throws {DomainError} `sign_in_link_invalid`, `passkey_invalid` the proof was used before or is withdrawn; `not_found`
 * the member was removed.
 */
export const startSession = async (
  context: Context,
  origin: Origin,
  {
    memberId,
    proof,
    counter = 0,
    value = formatSecret('session', context.system.randomBytes(SECRET_RANDOM_BYTES)),
  }: StartSession,
): Promise<StartedSession> => {
  const { store, system } = context;
  const now = system.now();
  const sessionId = sessionIdOf(proof);
  const expiresAt = new Date(now.getTime() + SESSION_MS).toISOString();
  const metadata = eventContext({ ...origin, environment: null, session: sessionId }, now.toISOString());
  const secretHash = sha256Hex(value);
  const stream = sessionStream(sessionId);
  const known = await load(store, session, stream);
  // A used proof is not valid again, and the counter of a passkey must increase.
  if (known.state.status === 'absent')
    await execute(context, {
      aggregate: members,
      stream: membersStream(origin.organizationId),
      context: metadata,
      decide: (state) => acceptProof(state, { memberId, proof, counter }),
    });
  const { state } = await execute(context, {
    aggregate: session,
    stream,
    context: metadata,
    decide: (found) => decideStartSession(found, { sessionId, memberId, secretHash, proof, expiresAt, now }),
    known,
  });
  return { session: { sessionId, expiresAt: state.status === 'active' ? state.expiresAt : expiresAt }, value };
};

interface ProvePresence extends StartSession {
  /** Session of the member who authenticates again. */
  readonly sessionId: string;
}

/**
 * Puts on record that the member of a session has proved again who they are.
 * @throws {DomainError} `sign_in_link_invalid`, `passkey_invalid` the proof was used before or is withdrawn; `not_found`
 * the member was removed.
 */
export const provePresence = async (
  context: Context,
  origin: Origin,
  { sessionId, memberId, proof, counter = 0 }: ProvePresence,
): Promise<void> => {
  const metadata = contextOf(context, origin);
  await execute(context, {
    aggregate: members,
    stream: membersStream(origin.organizationId),
    context: metadata,
    decide: (state) => acceptProof(state, { memberId, proof, counter }),
  });
  await execute(context, {
    aggregate: session,
    stream: sessionStream(sessionIdOf(proof)),
    context: metadata,
    decide: (state) => decideProvePresence(state, { sessionId, memberId, proof }),
    known: { state: session.initial, revision: 'no-stream' },
  });
};

/** Ends a session. A session that has ended stays ended. @throws {DomainError} `not_found`, `other_organization`. */
export const endSession = async (context: Context, origin: Origin, sessionId: string): Promise<void> => {
  if (!isId('ses', sessionId)) throw new DomainError('not_found', 'session not found');
  await execute(context, {
    aggregate: session,
    stream: sessionStream(sessionId),
    context: contextOf(context, origin),
    decide: (state) => decideEndSession(state, origin.organizationId),
  });
};

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
