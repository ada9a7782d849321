import { formatSecret, SECRET_RANDOM_BYTES } from '../domain/api-key/secret.ts';
import { sha256Hex } from '../domain/kernel/digest.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { RecordedEvent } from '../domain/kernel/event-store.ts';
import type { MemberEvent } from '../domain/kernel/events.ts';
import { formatId, ID_BYTES } from '../domain/kernel/ids.ts';
import { membersStream } from '../domain/kernel/streams.ts';
import type { Role } from '../domain/member/events.ts';
import {
  changeRole,
  inviteMember as decideInviteMember,
  removeMember as decideRemoveMember,
  setOperator as decideSetOperator,
  type Member,
  type MemberAuthority,
  type Members,
  members,
  requireMember,
} from '../domain/member/member.ts';
import { createSignInLink as decideCreateSignInLink, mailSignInLink } from '../domain/member/session.ts';
import type { ContactAddress } from '../domain/ports/contents.ts';
import {
  type CommandContext,
  eventContext,
  execute,
  executeOnce,
  load,
  type Origin,
  readWholeStream,
  retryConflicts,
} from './execute.ts';

type Context = Pick<CommandContext, 'store' | 'system' | 'contents'>;

/** A member with what the vault holds of them. */
export interface NamedMember extends Member {
  readonly name: string;
  /** null: the first owner, who has no address yet. */
  readonly email: string | null;
}

/** A link to sign in, shown once. */
export interface MadeLink {
  readonly token: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

export interface InvitedMember {
  readonly member: NamedMember;
  readonly link: MadeLink;
}

export interface InviteMember {
  readonly name: string;
  /** null: only the first owner. */
  readonly email: string | null;
  readonly role: Role;
  /** Default: `INVITATION_DAYS`. */
  readonly linkMinutes?: number;
}

const makeToken = ({ system }: Context) => {
  const token = formatSecret('link', system.randomBytes(SECRET_RANDOM_BYTES));
  return { token, linkHash: sha256Hex(token) };
};

/** The link with its expiry, which the decision chose. */
const madeLink = (state: Members, memberId: string, { token, linkHash }: ReturnType<typeof makeToken>): MadeLink => {
  const link = requireMember(state, memberId).links.find((one) => one.linkHash === linkHash);
  if (link === undefined) throw new Error('the link was added just now');
  return { token, expiresAt: link.expiresAt };
};

const contextOf = ({ system }: Context, origin: Origin) =>
  eventContext({ ...origin, environment: null }, system.now().toISOString());

/** @throws {Error} the vault holds none of them: a fault. */
const named = async (
  { contents }: Pick<Context, 'contents'>,
  found: readonly Member[],
): Promise<readonly NamedMember[]> => {
  const bodies = await contents.get(found.map(({ contactId }) => contactId));
  return found.map((one) => {
    const body = bodies.get(one.contactId);
    if (body?.kind !== 'contact' || body.member === undefined)
      throw new Error(`the vault holds no contact ${one.contactId} of ${one.memberId}`);
    return { ...one, name: body.member.name, email: body.address };
  });
};

const ofState = ({ members: found }: Members): readonly Member[] => Object.values(found);

/** Members of an organization, the longest known first. */
export const listMembers = async (
  context: Pick<Context, 'store' | 'contents'>,
  organizationId: string,
): Promise<readonly NamedMember[]> =>
  named(context, ofState((await load(context.store, members, membersStream(organizationId))).state));

/** @throws {DomainError} `not_found`. */
export const loadMember = async (
  context: Pick<Context, 'store' | 'contents'>,
  organizationId: string,
  memberId: string,
): Promise<NamedMember> => {
  const { state } = await load(context.store, members, membersStream(organizationId));
  const [found] = await named(context, [requireMember(state, memberId)]);
  if (found === undefined) throw new Error('one member has one name');
  return found;
};

interface MemberContact {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
}

/**
 * Names of current and former members, except those that are no longer stored.
 * @param ids of members; null: all.
 */
export const contactsOfMembers = async (
  { store, contents }: Pick<Context, 'store' | 'contents'>,
  organizationId: string,
  ids: ReadonlySet<string> | null,
): Promise<readonly MemberContact[]> => {
  if (ids?.size === 0) return [];
  const events = (await readWholeStream(store, membersStream(organizationId))) as readonly RecordedEvent<MemberEvent>[]; // its own
  const contacts = events.flatMap(({ type, data }) =>
    type === 'MemberInvited' && ids?.has(data.memberId) !== false ? [data.contactId] : [],
  );
  const bodies = await contents.get(contacts);
  return [...bodies.values()].flatMap((body) =>
    body.kind === 'contact' && body.member ? [{ ...body.member, email: body.address }] : [],
  );
};

/** Their names by id, without empty ones. @param ids of members. */
export const namesOfMembers = async (
  context: Pick<Context, 'store' | 'contents'>,
  organizationId: string,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> => {
  const contacts = await contactsOfMembers(context, organizationId, ids);
  return new Map(contacts.flatMap(({ id, name }) => (name === '' ? [] : [[id, name]])));
};

/** Two spellings of an address are one person. */
const isSameAddress = (one: string | null, other: string | null): boolean =>
  one !== null && one.toLowerCase() === other?.toLowerCase();

/**
 * Invites a person. If two invite the same person at once, one of them gets an error.
 * @throws {DomainError} `member_already_exists`, `too_many_members`, `resource_conflict`.
 */
export const inviteMember = (
  context: Context,
  origin: Origin,
  { name, email, role, linkMinutes: minutes }: InviteMember,
): Promise<InvitedMember> =>
  retryConflicts(async () => {
    const { store, system } = context;
    const { organizationId } = origin;
    const stream = membersStream(organizationId);
    const known = await load(store, members, stream);
    const others = await named(context, ofState(known.state));
    if (others.some((one) => isSameAddress(one.email, email)))
      throw new DomainError(
        'member_already_exists',
        'a person with this address is already a member: create a new link for them instead',
      );
    const memberId = formatId('mbr', system.randomBytes(ID_BYTES));
    const contactId = system.uuid();
    const made = makeToken(context);
    const now = system.now().toISOString();
    const body: ContactAddress = { kind: 'contact', address: email, member: { id: memberId, name } };
    const done = await executeOnce(context, {
      aggregate: members,
      stream,
      known,
      context: contextOf(context, origin),
      decide: (state) =>
        decideInviteMember(state, { memberId, contactId, role, linkHash: made.linkHash, now, minutes }),
      contents: [{ id: contactId, organizationId, body }],
    });
    if (done === null) return null;
    const member = { ...requireMember(done.state, memberId), name, email };
    return { member, link: madeLink(done.state, memberId, made) };
  });

/**
 * Gives a member another link, or renews their invitation. Earlier links stay, within `HANDED_LINKS_MAX`.
 * @throws {DomainError} `not_found`, `resource_conflict`.
 */
export const createSignInLink = async (
  context: Context,
  origin: Origin,
  { memberId, linkMinutes: minutes }: { readonly memberId: string; readonly linkMinutes?: number },
): Promise<MadeLink> => {
  const made = makeToken(context);
  const metadata = contextOf(context, origin);
  const { state } = await execute(context, {
    aggregate: members,
    stream: membersStream(origin.organizationId),
    context: metadata,
    decide: (found) =>
      decideCreateSignInLink(found, { memberId, linkHash: made.linkHash, now: metadata.occurredAt, minutes }),
  });
  return madeLink(state, memberId, made);
};

/**
 * Makes a link to be mailed to the member. Requests of strangers reach this, so it is limited.
 * @param asked `network` is the mark of the network that asks.
 * @throws {DomainError} `not_found`, `rate_limit_exceeded`, `resource_conflict`.
 */
export const createMailedLink = async (
  context: Context,
  origin: Origin,
  { memberId, network }: { readonly memberId: string; readonly network: string },
): Promise<MadeLink> => {
  const made = makeToken(context);
  const metadata = contextOf(context, origin);
  const { state } = await execute(context, {
    aggregate: members,
    stream: membersStream(origin.organizationId),
    context: metadata,
    decide: (found) => mailSignInLink(found, { memberId, linkHash: made.linkHash, now: metadata.occurredAt, network }),
  });
  return madeLink(state, memberId, made);
};

/** @throws {DomainError} `not_found`, `last_owner`, `resource_conflict`. */
export const changeMemberRole = async (
  context: Context,
  origin: Origin,
  change: { readonly memberId: string; readonly role: Role },
): Promise<NamedMember> => {
  const { state } = await execute(context, {
    aggregate: members,
    stream: membersStream(origin.organizationId),
    context: contextOf(context, origin),
    decide: (found) => changeRole(found, change),
  });
  const [changed] = await named(context, [requireMember(state, change.memberId)]);
  if (changed === undefined) throw new Error('one member has one name');
  return changed;
};

/** Lets a member read the health of the whole service, or no longer. @throws {DomainError} `not_found`, `resource_conflict`. */
export const setOperator = async (
  context: Context,
  origin: Origin,
  change: Pick<Member, 'memberId' | 'isOperator'>,
): Promise<void> => {
  await execute(context, {
    aggregate: members,
    stream: membersStream(origin.organizationId),
    context: contextOf(context, origin),
    decide: (state) => decideSetOperator(state, change),
  });
};

/** Ends all sessions of the member. @throws {DomainError} `not_found`, `last_owner`, `resource_conflict`. */
export const removeMember = async (
  context: Context,
  origin: Origin,
  { memberId, by }: { readonly memberId: string; readonly by: MemberAuthority },
): Promise<void> => {
  await execute(context, {
    aggregate: members,
    stream: membersStream(origin.organizationId),
    context: contextOf(context, origin),
    decide: (state) => decideRemoveMember(state, memberId, by),
  });
};
