/** Passkeys: WebAuthn key pairs with which members sign in. They belong to the members' aggregate. */
import { DomainError } from '../kernel/errors.ts';
import type { MemberEvent } from '../kernel/events.ts';
import type { Proof } from './events.ts';
import { joinMember, type Members, type Passkey, requireMember } from './member.ts';

/** One for each device, and some spares. All are held in memory. */
export const PASSKEYS_MAX = 10;

/** The message does not reveal what is wrong with the passkey. */
export const passkeyInvalid = (): DomainError =>
  new DomainError('passkey_invalid', 'this passkey cannot be used to sign in: use another, or a link');

/** The message does not reveal whether a link never existed, was used, was ended or has expired. */
export const linkInvalid = (): DomainError =>
  new DomainError('sign_in_link_invalid', 'this link cannot be used: it is used once, for a few minutes');

/** The same error for every action that needs recent reauthentication. */
export const presenceRequired = (): DomainError =>
  new DomainError(
    'presence_required',
    'prove again who you are, with a passkey or a fresh link, and repeat this: it needs you to be present',
  );

export interface AddPasskey extends Omit<Passkey, 'addedAt'> {
  readonly memberId: string;
  /** False if the member has not reauthenticated, which is allowed for their first passkey only. */
  readonly isPresent: boolean;
}

/**
 * @throws {DomainError} `not_found`; `presence_required` if it is not the first passkey; `resource_conflict` if it was
 * added before; `too_many_passkeys`.
 */
export const addPasskey = (
  state: Members,
  { memberId, passkeyId, credentialId, publicKey, counter, isSynced, isPresent }: AddPasskey,
): readonly MemberEvent[] => {
  const { passkeys } = requireMember(state, memberId);
  if (!isPresent && passkeys.length > 0) throw presenceRequired();
  if (passkeys.some((one) => one.credentialId === credentialId))
    throw new DomainError('resource_conflict', 'this passkey was added before');
  if (passkeys.length >= PASSKEYS_MAX)
    throw new DomainError('too_many_passkeys', `a member has at most ${PASSKEYS_MAX} passkeys`);
  const added = { memberId, passkeyId, credentialId, publicKey, counter, isSynced };
  return [{ type: 'PasskeyAdded', data: isPresent ? added : { ...added, withoutPresence: true } }];
};

export interface RemovePasskey {
  readonly memberId: string;
  readonly passkeyId: string;
}

/** @throws {DomainError} `not_found`. */
export const removePasskey = (state: Members, { memberId, passkeyId }: RemovePasskey): readonly MemberEvent[] => {
  const { passkeys } = requireMember(state, memberId);
  if (!passkeys.some((one) => one.passkeyId === passkeyId)) throw new DomainError('not_found', 'passkey not found');
  return [{ type: 'PasskeyRemoved', data: { memberId, passkeyId } }];
};

export interface AcceptProof {
  readonly memberId: string;
  readonly proof: Proof;
  /** Counter of the passkey's signature; 0 if it does not count, or if the proof is not a passkey. */
  readonly counter: number;
}

/**
 * Accepts a member's proof of identity. A passkey's counter must increase, or stay at 0 forever.
 * @throws {DomainError} `not_found`; `sign_in_link_invalid` if the link ended; `passkey_invalid` if the passkey was
 * removed or has been copied.
 */
export const acceptProof = (state: Members, { memberId, proof, counter }: AcceptProof): readonly MemberEvent[] => {
  if (proof.kind === 'link') {
    if (!requireMember(state, memberId).links.some(({ linkHash }) => linkHash === proof.linkHash)) throw linkInvalid();
    return joinMember(state, memberId, proof.linkHash);
  }
  if (proof.kind === 'oidc') return joinMember(state, memberId);
  const { passkeyId } = proof;
  const passkey = state.members[memberId]?.passkeys.find((one) => one.passkeyId === passkeyId);
  if (passkey === undefined) throw passkeyInvalid();
  if (passkey.counter === 0 && counter === 0) return [];
  if (counter <= passkey.counter) throw passkeyInvalid();
  return [{ type: 'PasskeyCounted', data: { memberId, passkeyId, counter } }];
};
