import type { Aggregate } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { MemberEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { Proof, Role } from './events.ts';

/**
 * Members are people of an organization who use the dashboard. All members of an organization form one aggregate, so
 * that two concurrent requests cannot remove the last owner.
 */

/** Maximum members of an organization. Higher: more memory, because all members are held in it with their sessions. */
export const MEMBERS_MAX = 200;

export interface Passkey {
  readonly passkeyId: string;
  /** base64url. */
  readonly credentialId: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** Number of signatures so far; 0 if the authenticator does not count. */
  readonly counter: number;
  readonly isSynced: boolean;
  readonly addedAt: string;
}

export interface Member {
  readonly memberId: string;
  /** Id of the content with name and e-mail address. */
  readonly contactId: string;
  readonly role: Role;
  /** Whether the member may read the health of the whole service, in addition to the role's permissions. */
  readonly isOperator: boolean;
  /** `invited`: has never signed in. */
  readonly status: 'invited' | 'joined';
  readonly invitedAt: string;
  readonly joinedAt: string | null;
  /** Oldest first. Some may be used or expired: `session.ts` rejects a second use. */
  readonly links: readonly MemberLink[];
  /** SHA-256 of the link that accepted the invitation, in hex; null if it was accepted otherwise, or not yet. */
  readonly joinedBy: string | null;
  /** Oldest first. */
  readonly passkeys: readonly Passkey[];
}

/** Members of an organization by id; removed ones are absent. */
export interface Members {
  readonly members: Readonly<Record<string, Member>>;
}

const withChanges = (state: Members, memberId: string, changes: Partial<Member>): Members => {
  const member = state.members[memberId];
  return member === undefined ? state : { members: { ...state.members, [memberId]: { ...member, ...changes } } };
};

const withPasskeys = (
  state: Members,
  memberId: string,
  change: (passkeys: readonly Passkey[]) => readonly Passkey[],
): Members => withChanges(state, memberId, { passkeys: change(state.members[memberId]?.passkeys ?? []) });

export const members: Aggregate<Members, MemberEvent> = {
  category: CATEGORIES.members,
  initial: { members: {} },
  evolve: (state, event, { occurredAt, actor }) => {
    const { memberId } = event.data;
    switch (event.type) {
      case 'MemberInvited': {
        const invited = {
          ...event.data,
          isOperator: false,
          status: 'invited',
          invitedAt: occurredAt,
          joinedAt: null,
          links: [],
          joinedBy: null,
          passkeys: [],
        } as const;
        return { members: { ...state.members, [memberId]: invited } };
      }
      case 'SignInLinkCreated': {
        const { linkHash, expiresAt, mailed, network = null } = event.data;
        const source = mailed ? 'mail' : linkSourceOf(actor);
        const links = addLink(
          state.members[memberId]?.links ?? [],
          { linkHash, expiresAt, source, network },
          occurredAt,
        );
        return withChanges(state, memberId, { links });
      }
      case 'MemberJoined': {
        const { linkHash = null } = event.data;
        const links = (state.members[memberId]?.links ?? []).filter((one) => one.linkHash === linkHash);
        return withChanges(state, memberId, { status: 'joined', joinedAt: occurredAt, joinedBy: linkHash, links });
      }
      case 'MemberRoleChanged':
        return withChanges(state, memberId, { role: event.data.role });
      case 'OperatorGranted':
        return withChanges(state, memberId, { isOperator: true });
      case 'OperatorWithdrawn':
        return withChanges(state, memberId, { isOperator: false });
      case 'MemberRemoved': {
        const { [memberId]: _, ...others } = state.members;
        return { members: others };
      }
      case 'PasskeyAdded': {
        const { memberId: _, ...added } = event.data;
        return withPasskeys(state, memberId, (passkeys) => [...passkeys, { ...added, addedAt: occurredAt }]);
      }
      case 'PasskeyCounted': {
        const { passkeyId, counter } = event.data;
        return withPasskeys(state, memberId, (passkeys) =>
          passkeys.map((one) => (one.passkeyId === passkeyId ? { ...one, counter } : one)),
        );
      }
      case 'PasskeyRemoved': {
        const { passkeyId } = event.data;
        return withPasskeys(state, memberId, (passkeys) => passkeys.filter((one) => one.passkeyId !== passkeyId));
      }
      default:
        return event satisfies never;
    }
  },
};

/** @throws {DomainError} `not_found`. */
export const requireMember = (state: Members, memberId: string): Member => {
  const member = Object.hasOwn(state.members, memberId) ? state.members[memberId] : undefined;
  if (member === undefined) throw new DomainError('not_found', 'member not found');
  return member;
};

/**
 * Another owner must exist who has joined. An invited owner does not count, because they may never sign in.
 * @throws {DomainError} `last_owner`.
 */
const requireOwnerBeside = (state: Members, { memberId, role, status }: Member): void => {
  if (role !== 'owner' || status !== 'joined') return;
  const others = Object.values(state.members).filter((one) => one.memberId !== memberId);
  if (others.some((one) => one.role === 'owner' && one.status === 'joined')) return;
  throw new DomainError(
    'last_owner',
    'this would remove the last owner who has signed in: make another member an owner first',
  );
};

/** The operator may remove the last owner, because the command line can invite another. */
export type MemberAuthority = 'member' | 'operator';

interface InviteMember {
  readonly memberId: string;
  readonly contactId: string;
  readonly role: Role;
  /** SHA-256 of the sign-in link's token, in hex. */
  readonly linkHash: string;
  /** ISO 8601. */
  readonly now: string;
  /** Default: `INVITATION_DAYS`. */
  readonly minutes?: number | undefined;
}

/** @throws {DomainError} `too_many_members`. */
export const inviteMember = (
  state: Members,
  { memberId, contactId, role, linkHash, now, minutes = INVITATION_MINUTES }: InviteMember,
): readonly MemberEvent[] => {
  if (Object.keys(state.members).length >= MEMBERS_MAX)
    throw new DomainError('too_many_members', `an organization has at most ${MEMBERS_MAX} members: remove one first`);
  return [
    { type: 'MemberInvited', data: { memberId, contactId, role } },
    { type: 'SignInLinkCreated', data: { memberId, linkHash, expiresAt: expiryAfter(now, minutes) } },
  ];
};

/**
 * Records a member's first sign-in. Later ones emit no event.
 * @param linkHash the link that was used; undefined if there was none.
 * @throws {DomainError} `not_found`.
 */
const joinMember = (state: Members, memberId: string, linkHash?: string): readonly MemberEvent[] => {
  if (requireMember(state, memberId).status === 'joined') return [];
  return [{ type: 'MemberJoined', data: { memberId, ...(linkHash !== undefined && { linkHash }) } }];
};

/** Changes a member's role. The same role is no change. @throws {DomainError} `not_found`, `last_owner`. */
export const changeRole = (
  state: Members,
  { memberId, role }: Pick<Member, 'memberId' | 'role'>,
): readonly MemberEvent[] => {
  const member = requireMember(state, memberId);
  if (member.role === role) return [];
  requireOwnerBeside(state, member);
  return [{ type: 'MemberRoleChanged', data: { memberId, role } }];
};

/** Grants or withdraws operator rights. The same value is no change. @throws {DomainError} `not_found`. */
export const setOperator = (
  state: Members,
  { memberId, isOperator }: Pick<Member, 'memberId' | 'isOperator'>,
): readonly MemberEvent[] => {
  if (requireMember(state, memberId).isOperator === isOperator) return [];
  return [{ type: isOperator ? 'OperatorGranted' : 'OperatorWithdrawn', data: { memberId } }];
};

/** @throws {DomainError} `not_found`, `last_owner`. */
export const removeMember = (state: Members, memberId: string, by: MemberAuthority): readonly MemberEvent[] => {
  const member = requireMember(state, memberId);
  if (by !== 'operator') requireOwnerBeside(state, member);
  return [{ type: 'MemberRemoved', data: { memberId } }];
};

/** Links with which members accept an invitation or sign in: their lifetime, and how many may be valid at once. */

/** Higher: more time for a mail scanner or an onlooker to use the link. Lower: people who are interrupted lose it. */
export const LINK_MINUTES = 15;
/** Higher: forgotten links stay usable. Lower: people on holiday miss their invitation. */
export const INVITATION_DAYS = 7;
export const INVITATION_MINUTES = INVITATION_DAYS * 24 * 60;
const MINUTE_MS = 60_000;

/**
 * Maximum number of a member's mailed links that are valid at once. Higher: strangers can fill the member's mailbox.
 * Lower: a few lost mails lock the member out. When the limit is reached, the member still has this many valid links.
 */
export const MAILED_LINKS_MAX = 5;
/**
 * Maximum number of these that one network may request. Higher: one stranger can use up all of them. Lower: a member
 * whose mail gets lost cannot ask again from the same place.
 */
export const MAILED_LINKS_PER_NETWORK_MAX = 3;
/**
 * Maximum number of a member's handed-over links that are valid at once. Another one ends the oldest. Only the operator
 * and those who manage members create them. Higher: more links that let someone in. Lower: handing over a second link
 * ends the first.
 */
export const HANDED_LINKS_MAX = 5;

/** Lifetime of the link that the first start prints: time to read a page or two during installation. */
export const FIRST_LINK_MINUTES = 60;

interface SignInLink {
  /** SHA-256 of the token, in hex. */
  readonly linkHash: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** `operator`: printed by the first start or the command line. `member`: created through the API. */
type LinkSource = 'operator' | 'member' | 'mail';

export interface MemberLink extends SignInLink {
  readonly source: LinkSource;
  /** Mark of the network that requested a mailed link; null if unknown. */
  readonly network: string | null;
}

/** @param actor creator of the link. The source of mailed links is always `mail`. */
const linkSourceOf = (actor: string): LinkSource =>
  actor === 'operator' || actor === 'service' ? 'operator' : 'member';

/** @param now ISO 8601. */
export const expiryAfter = (now: string, minutes: number): string =>
  new Date(Date.parse(now) + minutes * MINUTE_MS).toISOString();

/** @param now ISO 8601. */
export const openLinks = (links: readonly MemberLink[], now: string): readonly MemberLink[] =>
  links.filter(({ expiresAt }) => expiresAt > now);

/** Drops expired links, and the oldest handed-over links beyond the maximum. @param now ISO 8601. */
const addLink = (links: readonly MemberLink[], link: MemberLink, now: string): readonly MemberLink[] => {
  const open = [...openLinks(links, now), link];
  const handed = open.filter(({ source }) => source !== 'mail');
  const ended = new Set(handed.slice(0, -HANDED_LINKS_MAX));
  return open.filter((one) => !ended.has(one));
};

/** Passkeys: WebAuthn key pairs with which members sign in. They belong to the members' aggregate. */

/** One for each device, and some spares. All are held in memory. */
export const PASSKEYS_MAX = 10;

/** The message does not reveal what is wrong with the passkey. */
export const passkeyInvalid = (): DomainError =>
  new DomainError('passkey_invalid', 'this passkey cannot be used to sign in: use another one, or a link');

/** The message does not reveal whether a link never existed, was used, was ended or has expired. */
export const linkInvalid = (): DomainError =>
  new DomainError('sign_in_link_invalid', 'this link was already used, or has expired: request a new one');

/** The same error for every action that needs recent reauthentication. */
export const presenceRequired = (): DomainError =>
  new DomainError('presence_required', 'confirm that it is you, with a passkey or a new link, then repeat the request');

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
    throw new DomainError('resource_conflict', 'this passkey was already added');
  if (passkeys.length >= PASSKEYS_MAX)
    throw new DomainError('too_many_passkeys', `a member has at most ${PASSKEYS_MAX} passkeys: remove one first`);
  const added = { memberId, passkeyId, credentialId, publicKey, counter, isSynced };
  return [{ type: 'PasskeyAdded', data: isPresent ? added : { ...added, withoutPresence: true } }];
};

interface RemovePasskey {
  readonly memberId: string;
  readonly passkeyId: string;
}

/** @throws {DomainError} `not_found`. */
export const removePasskey = (state: Members, { memberId, passkeyId }: RemovePasskey): readonly MemberEvent[] => {
  const { passkeys } = requireMember(state, memberId);
  if (!passkeys.some((one) => one.passkeyId === passkeyId)) throw new DomainError('not_found', 'passkey not found');
  return [{ type: 'PasskeyRemoved', data: { memberId, passkeyId } }];
};

interface AcceptProof {
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
