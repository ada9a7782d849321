import type { z } from 'zod';
import {
  createSignInLink,
  inviteMember,
  listMembers,
  loadMember,
  type MadeLink,
  type NamedMember,
  removeMember,
  setOperator,
} from '../commands/member.ts';
import { readDirectory } from '../composition/first-start.ts';
import { baseUrlOf } from '../composition/lifecycle.ts';
import type { Operator } from '../composition/open-operator.ts';
import type { Config } from '../config.ts';
import { signInUrl } from '../domain/kernel/addresses.ts';
import { ROLES, type Role, roleSchema } from '../domain/member/events.ts';
import { shownLine } from '../http/fields.ts';
import { bareAddress } from '../http/resources/messages/send-fields.ts';
import { type Invocation, type OperatorCommand, optional, required } from './command.ts';
import { UsageError } from './failures.ts';
import { operatorOrigin } from './operator-origin.ts';

/** The named organization, or the only one that exists. @throws {UsageError} */
const organizationOf = async ({ context }: Operator, invocation: Invocation): Promise<string> => {
  const named = optional(invocation, 'organization');
  if (named !== undefined) return named;
  const [only, ...others] = (await readDirectory(context)).organizations.keys();
  if (only !== undefined && others.length === 0) return only;
  throw new UsageError('--organization is required: there is not exactly one');
};

const roleOf = (invocation: Invocation): Role => {
  const role = roleSchema.safeParse(required(invocation, 'role'));
  if (role.success) return role.data;
  throw new UsageError(`--role must be one of ${ROLES.join(', ')}`);
};

const checked = (option: string, text: string, schema: z.ZodType<string>): string => {
  const read = schema.safeParse(text);
  if (read.success) return read.data;
  throw new UsageError(`--${option}: ${read.error.issues[0]?.message ?? 'it is malformed'}`);
};

const CHARACTERS_MAX = 100;

const shown = ({ memberId, name, email, role, status, isOperator }: NamedMember) => ({
  member_id: memberId,
  name,
  email,
  role,
  operator: isOperator,
  status,
});

/** A link to the address of the service that started last. */
const linkOf = ({ mail, apiUrl }: Operator, config: Config, { token, expiresAt }: MadeLink) => ({
  link_expires_at: expiresAt,
  link: signInUrl(mail?.publicUrl ?? apiUrl ?? baseUrlOf(config, config.port), token),
});

export const inviteMemberCommand: OperatorCommand = {
  name: 'members invite',
  usage: '--email ADDRESS --role owner|developer|analyst|auditor [--name NAME] [--organization ORG_ID]',
  summary: 'invites a person to the dashboard and prints the link, which works once, for 7 days',
  run: async (operator, invocation, config) => {
    const { context } = operator;
    const email = checked('email', required(invocation, 'email'), bareAddress);
    const role = roleOf(invocation);
    const name = checked('name', optional(invocation, 'name') ?? email, shownLine(CHARACTERS_MAX));
    const origin = await operatorOrigin(context, await organizationOf(operator, invocation));
    const known = (await listMembers(context, origin.organizationId)).find(
      (member) => member.email?.toLowerCase() === email.toLowerCase(),
    );
    if (known !== undefined && known.role !== role)
      throw new UsageError(`${email} is a member with the role ${known.role}: name that role for another link`);
    if (known !== undefined) {
      const link = await createSignInLink(context, origin, { memberId: known.memberId });
      return { ...shown(known), ...linkOf(operator, config, link) };
    }
    const { member, link } = await inviteMember(context, origin, { email, name, role });
    return { ...shown(member), ...linkOf(operator, config, link) };
  },
};

/** The named member, or else the first owner, preferring those who have joined. @throws {UsageError} */
const memberIdOf = (invocation: Invocation, members: readonly NamedMember[]): string => {
  const named = optional(invocation, 'member');
  const isOwner = invocation.values.owner === true;
  if ((named === undefined) !== isOwner) throw new UsageError('name a member: --member MEMBER_ID, or --owner');
  if (named !== undefined) return named;
  const owners = members.filter(({ role }) => role === 'owner');
  const owner = owners.find(({ status }) => status === 'joined') ?? owners[0];
  if (owner !== undefined) return owner.memberId;
  throw new UsageError('there is no owner: invite one with `members invite --role owner`');
};

export const linkMemberCommand: OperatorCommand = {
  name: 'members link',
  usage: '[--member MEMBER_ID] [--owner] [--organization ORG_ID]',
  summary: 'prints a link for a member, or for the first owner, to sign in or to show that they are present',
  run: async (operator, invocation, config) => {
    const { context } = operator;
    const origin = await operatorOrigin(context, await organizationOf(operator, invocation));
    const members = await listMembers(context, origin.organizationId);
    const memberId = memberIdOf(invocation, members);
    const link = await createSignInLink(context, origin, { memberId });
    return { ...shown(await loadMember(context, origin.organizationId, memberId)), ...linkOf(operator, config, link) };
  },
};

export const listMembersCommand: OperatorCommand = {
  name: 'members list',
  usage: '[--organization ORG_ID]',
  summary: 'lists who may use the dashboard',
  run: async (operator, invocation) => {
    const { organizationId } = await operatorOrigin(operator.context, await organizationOf(operator, invocation));
    const members = await listMembers(operator.context, organizationId);
    return members.map((member) => ({ organization_id: organizationId, ...shown(member), joined_at: member.joinedAt }));
  },
};

export const removeMemberCommand: OperatorCommand = {
  name: 'members remove',
  usage: '--member MEMBER_ID [--organization ORG_ID]',
  summary: 'removes a member, even the last owner, and ends their sessions',
  run: async (operator, invocation) => {
    const { context } = operator;
    const origin = await operatorOrigin(context, await organizationOf(operator, invocation));
    const memberId = required(invocation, 'member');
    await removeMember(context, origin, { memberId, by: 'operator' });
    return { member_id: memberId, status: 'removed' };
  },
};

/** @param verb verb in the command's name. */
const operatorCommand = (verb: 'grant' | 'withdraw', summary: string): OperatorCommand => ({
  name: `members ${verb}-operator`,
  usage: '--member MEMBER_ID [--organization ORG_ID]',
  summary,
  run: async (operator, invocation) => {
    const { context } = operator;
    const origin = await operatorOrigin(context, await organizationOf(operator, invocation));
    const memberId = required(invocation, 'member');
    const isOperator = verb === 'grant';
    await setOperator(context, origin, { memberId, isOperator });
    return { member_id: memberId, operator: isOperator };
  },
});

export const grantOperatorCommand = operatorCommand(
  'grant',
  'lets a member read the health of the service, which shows no data of any organization',
);
export const withdrawOperatorCommand = operatorCommand(
  'withdraw',
  'takes the health of the service away from a member, in open sessions within a second',
);
