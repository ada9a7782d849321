import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { createPostgresMemberViews } from '../adapters/member-views.ts';
import type { CommandContext } from '../commands/execute.ts';
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
import { createOrganization, resumeOrganization, setCeilings, suspendOrganization } from '../commands/organization.ts';
import { registerDomain, verifyDomain } from '../commands/sending-domain/change-domain.ts';
import { serviceHosts } from '../commands/sending-domain/check-domain.ts';
import { firstAdminKey, readDirectory } from '../composition/first-start.ts';
import { baseUrlOf } from '../composition/lifecycle.ts';
import type { Operator } from '../composition/open-operator.ts';
import type { Config } from '../config.ts';
import { signInUrl } from '../domain/kernel/addresses.ts';
import { ROLES, type Role, roleSchema } from '../domain/member/events.ts';
import { type DomainRecords, RECORDS_UNKNOWN } from '../domain/sending-domain/domain-records.ts';
import { recordsToPublish } from '../domain/sending-domain/records-to-publish.ts';
import {
  type ExistingSendingDomain,
  isVerified,
  lifeOf,
  verificationRecord,
} from '../domain/sending-domain/sending-domain.ts';
import { trackingTarget } from '../domain/tracking/tracking.ts';
import { shownLine } from '../http/fields.ts';
import { sentencesIn } from '../http/problems.ts';
import { bareAddress } from '../http/resources/messages/send-fields.ts';
import { type Invocation, type OperatorCommand, optional, required } from './command.ts';
import { ceilingsOf } from './keys.ts';
import { operatorHost, operatorOrigin, reasonIn } from './operator-origin.ts';
import { UsageError } from './terminal.ts';

/** The named organization, or the only one that exists. @throws {UsageError} */
const organizationOf = async ({ context }: Operator, invocation: Invocation): Promise<string> => {
  const named = optional(invocation, 'organization');
  if (named !== undefined) return named;
  const [only, ...others] = (await readDirectory(context)).organizations.keys();
  if (only !== undefined && others.length === 0) return only;
  throw new UsageError('--organization is required: there is more than one organization, or none');
};

/**
 * The organization whose member gets a link. The sign-in page prints `members link --owner` and does not know the
 * organization: that of the first start has the first owner.
 */
const organizationOfLink = async (operator: Operator, invocation: Invocation): Promise<string> => {
  const isFirstOwner = invocation.values.owner === true && optional(invocation, 'organization') === undefined;
  const first = isFirstOwner ? firstAdminKey(await readDirectory(operator.context)) : undefined;
  return first?.key.organizationId ?? organizationOf(operator, invocation);
};

const roleOf = (invocation: Invocation): Role => {
  const role = roleSchema.safeParse(required(invocation, 'role'));
  if (role.success) return role.data;
  throw new UsageError(`--role must be one of ${ROLES.join(', ')}`);
};

const checked = (option: string, text: string, schema: z.ZodType<string>): string => {
  const given = { [option]: text };
  const read = z.record(z.string(), schema).safeParse(given);
  if (!read.success) throw new UsageError(`--${sentencesIn(read.error.issues, given).join('; ')}`);
  return read.data[option] ?? '';
};

const CHARACTERS_MAX = 100;

const memberRow = ({ memberId, name, email, role, status, isOperator }: NamedMember) => ({
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
      throw new UsageError(
        `${email} is already a member with the role ${known.role}: pass that role to get a new link`,
      );
    if (known !== undefined) {
      const link = await createSignInLink(context, origin, { memberId: known.memberId });
      return { ...memberRow(known), ...linkOf(operator, config, link) };
    }
    const { member, link } = await inviteMember(context, origin, { email, name, role });
    return { ...memberRow(member), ...linkOf(operator, config, link) };
  },
};

/** The named member, or else the first owner, preferring those who have joined. @throws {UsageError} */
const memberIdOf = (invocation: Invocation, members: readonly NamedMember[]): string => {
  const named = optional(invocation, 'member');
  const isOwner = invocation.values.owner === true;
  if ((named === undefined) !== isOwner) throw new UsageError('pass either --member MEMBER_ID or --owner');
  if (named !== undefined) return named;
  const owners = members.filter(({ role }) => role === 'owner');
  const owner = owners.find(({ status }) => status === 'joined') ?? owners[0];
  if (owner !== undefined) return owner.memberId;
  throw new UsageError('no owner found: invite one with `members invite --role owner`');
};

export const linkMemberCommand: OperatorCommand = {
  name: 'members link',
  usage: '[--member MEMBER_ID] [--owner] [--organization ORG_ID]',
  summary: 'prints a link that lets a member, or the first owner, sign in or confirm presence',
  run: async (operator, invocation, config) => {
    const { context } = operator;
    const origin = await operatorOrigin(context, await organizationOfLink(operator, invocation));
    const members = await listMembers(context, origin.organizationId);
    const memberId = memberIdOf(invocation, members);
    const link = await createSignInLink(context, origin, { memberId });
    return {
      ...memberRow(await loadMember(context, origin.organizationId, memberId)),
      ...linkOf(operator, config, link),
    };
  },
};

export const listMembersCommand: OperatorCommand = {
  name: 'members list',
  usage: '[--organization ORG_ID]',
  summary: 'lists the people who can use the dashboard',
  run: async (operator, invocation) => {
    const { organizationId } = await operatorOrigin(operator.context, await organizationOf(operator, invocation));
    const members = await listMembers(operator.context, organizationId);
    return members.map((member) => ({
      organization_id: organizationId,
      ...memberRow(member),
      joined_at: member.joinedAt,
    }));
  },
};

export const removeMemberCommand: OperatorCommand = {
  name: 'members remove',
  usage: '--member MEMBER_ID [--organization ORG_ID]',
  summary: 'removes a member, even the last owner, and ends their sessions',
  run: async (operator, invocation) => {
    const { context, pool } = operator;
    const origin = await operatorOrigin(context, await organizationOf(operator, invocation));
    const memberId = required(invocation, 'member');
    await removeMember(context, origin, { memberId, by: 'operator' });
    await createPostgresMemberViews({ pool }).replace({ organizationId: origin.organizationId, memberId }, []);
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
  "lets a member read the service's health, which contains no data of organizations",
);
export const withdrawOperatorCommand = operatorCommand(
  'withdraw',
  "stops a member from reading the service's health, within a second even in open sessions",
);

/**
 * Uses the service's mail settings, not this shell's variables, because they decide which records a domain needs.
 * @throws {UsageError}
 */
const contextOf = ({ context, mail }: Operator): CommandContext => {
  if (mail === undefined)
    throw new UsageError('MAIL_URL and BOUNCE_DOMAIN are unknown: start the service once with both set');
  return {
    ...context,
    capturing: mail.kind === 'capture',
    bounceDomain: mail.bounceDomain,
    trackingTarget: trackingTarget(mail.publicUrl),
  };
};

const shownRecords = (domain: ExistingSendingDomain, context: CommandContext, { records }: DomainRecords) =>
  recordsToPublish(domain, serviceHosts(context)).map((record) => {
    const { kind, type, host, value, required } = record;
    const seen = records.find((each) => each.kind === kind && each.host === host);
    const state = context.capturing ? 'not_needed' : (seen?.state ?? 'unknown');
    return { kind, type, host, value, required, state, problem: seen?.problem ?? null };
  });

const domainRow = (domain: ExistingSendingDomain, context: CommandContext, records: DomainRecords) => ({
  domain_id: domain.domainId,
  organization_id: domain.organizationId,
  name: domain.name,
  status: lifeOf(domain, context.capturing),
  verified: isVerified(domain, context.capturing),
  fails_at: !context.capturing && domain.trouble?.status === 'degraded' ? domain.trouble.failsAt : null,
  txt_host: verificationRecord(domain).host,
  txt_value: verificationRecord(domain).value,
  records: shownRecords(domain, context, records),
});

export const createDomainCommand: OperatorCommand = {
  name: 'domains create',
  usage: '--organization ORG_ID --name NAME',
  summary: 'registers a sending domain and shows the DNS records to publish',
  run: async (operator, invocation) => {
    const context = contextOf(operator);
    const name = domainToASCII(required(invocation, 'name')).toLowerCase();
    if (name === '') throw new UsageError('--name must be a domain name');
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { domain } = await registerDomain(context, origin, { name });
    return domainRow(domain, context, RECORDS_UNKNOWN);
  },
};

export const verifyDomainCommand: OperatorCommand = {
  name: 'domains verify',
  usage: '--organization ORG_ID --domain DOM_ID',
  summary: 'checks the DNS records of a domain now',
  run: async (operator, invocation) => {
    const context = contextOf(operator);
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { domain, records } = await verifyDomain(context, origin, { domainId: required(invocation, 'domain') });
    return domainRow(domain, context, records);
  },
};

export const listDomainsCommand: OperatorCommand = {
  name: 'domains list',
  usage: '[--organization ORG_ID] [--all]',
  summary: 'lists the domains',
  run: async (operator, invocation) => {
    const context = contextOf(operator);
    const of = optional(invocation, 'organization');
    if (of !== undefined) await operatorOrigin(context, of);
    const { domains, records } = await readDirectory(context);
    return [...domains.values()]
      .flatMap(({ domain }) => (domain.status === 'registered' ? [domain] : []))
      .filter(({ organizationId }) => of === undefined || organizationId === of)
      .map((each) => domainRow(each, context, records.get(each.domainId) ?? RECORDS_UNKNOWN));
  },
};

export const createOrganizationCommand: OperatorCommand = {
  name: 'organizations create',
  usage: '--name NAME [--send N] [--read N] [--manage N]',
  summary: "creates an organization; --send, --read and --manage cap its keys' limits per minute",
  run: async ({ context }, invocation) => {
    const name = required(invocation, 'name');
    const made = { name, ceilings: ceilingsOf(invocation), operator: operatorHost() };
    return { organization_id: await createOrganization(context, made), name };
  },
};

export const setCeilingsCommand: OperatorCommand = {
  name: 'organizations set-ceilings',
  usage: '--organization ORG_ID [--send N] [--read N] [--manage N]',
  summary: "caps the limits per minute of an organization's keys; an omitted option removes its cap",
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const ceilings = ceilingsOf(invocation);
    await setCeilings(context, origin, ceilings);
    return { organization_id: origin.organizationId, ceilings };
  },
};

export const suspendOrganizationCommand: OperatorCommand = {
  name: 'organizations suspend',
  usage: '--organization ORG_ID --reason TEXT',
  summary: 'stops all mail of an organization and disables its tracked links; the organization can read the reason',
  run: async ({ context }, invocation) => {
    const reason = reasonIn(invocation);
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { suspension } = await suspendOrganization(context, origin, reason);
    return { organization_id: origin.organizationId, suspension };
  },
};

export const resumeOrganizationCommand: OperatorCommand = {
  name: 'organizations resume',
  usage: '--organization ORG_ID --reason TEXT',
  summary: 'lets a suspended organization send again, and sends its held mail',
  run: async ({ context }, invocation) => {
    const reason = reasonIn(invocation);
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    await resumeOrganization(context, origin, reason);
    return { organization_id: origin.organizationId, suspension: null };
  },
};

export const listOrganizationsCommand: OperatorCommand = {
  name: 'organizations list',
  usage: '',
  summary: 'lists the organizations',
  run: async ({ context }) => {
    const { organizations } = await readDirectory(context);
    return [...organizations.values()].flatMap((each) =>
      each.status === 'absent'
        ? []
        : [
            {
              organization_id: each.organizationId,
              name: each.settings.name,
              ceilings: each.ceilings,
              suspension: each.suspension,
            },
          ],
    );
  },
};
