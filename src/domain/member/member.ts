/**
 * Members are people of an organization who use the dashboard. All members of an organization form one aggregate, so
 * that two concurrent requests cannot remove the last owner.
 */

import type { Permission } from '../api-key/events.ts';
import type { Aggregate } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { MemberEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { Role } from './events.ts';
import { addLink, expiryAfter, INVITATION_MINUTES, linkSourceOf, type MemberLink } from './sign-in-link.ts';

/** Permissions of a role, and restrictions that apply regardless of them. */
export interface Powers {
  readonly permissions: readonly Permission[];
  /** True if the role sees no address, subject or body of mail, unless an owner allows it. */
  readonly withoutContents: boolean;
  /** True if the role is read-only. */
  readonly safeMethodsOnly: boolean;
}

export const POWERS: Readonly<Record<Role, Powers>> = {
  owner: { permissions: ['admin'], withoutContents: false, safeMethodsOnly: false },
  developer: { permissions: ['send', 'read', 'manage'], withoutContents: false, safeMethodsOnly: false },
  analyst: { permissions: ['read'], withoutContents: true, safeMethodsOnly: false },
  auditor: { permissions: ['admin'], withoutContents: true, safeMethodsOnly: true },
};

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

const changed = (state: Members, memberId: string, changes: Partial<Member>): Members => {
  const member = state.members[memberId];
  return member === undefined ? state : { members: { ...state.members, [memberId]: { ...member, ...changes } } };
};

const withPasskeys = (
  state: Members,
  memberId: string,
  change: (passkeys: readonly Passkey[]) => readonly Passkey[],
): Members => changed(state, memberId, { passkeys: change(state.members[memberId]?.passkeys ?? []) });

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
        return changed(state, memberId, { links });
      }
      case 'MemberJoined': {
        const { linkHash = null } = event.data;
        const links = (state.members[memberId]?.links ?? []).filter((one) => one.linkHash === linkHash);
        return changed(state, memberId, { status: 'joined', joinedAt: occurredAt, joinedBy: linkHash, links });
      }
      case 'MemberRoleChanged':
        return changed(state, memberId, { role: event.data.role });
      case 'OperatorGranted':
        return changed(state, memberId, { isOperator: true });
      case 'OperatorWithdrawn':
        return changed(state, memberId, { isOperator: false });
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
    'this would take away the last owner who has signed in: make another member an owner first',
  );
};

/** The operator may remove the last owner, because the command line can invite another. */
export type MemberAuthority = 'member' | 'operator';

export interface InviteMember {
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
    throw new DomainError('too_many_members', `an organization has at most ${MEMBERS_MAX} members`);
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
export const joinMember = (state: Members, memberId: string, linkHash?: string): readonly MemberEvent[] => {
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
