import { z } from 'zod';
import {
  changeMemberRole,
  createSignInLink,
  inviteMember,
  listMembers,
  loadMember,
  type MadeLink,
  removeMember,
} from '../../../commands/member.ts';
import { requireWithin } from '../../../domain/api-key/key-authority.ts';
import { signInUrl } from '../../../domain/kernel/addresses.ts';
import { roleSchema } from '../../../domain/member/events.ts';
import { MEMBERS_MAX } from '../../../domain/member/member.ts';
import { HANDED_LINKS_MAX, INVITATION_DAYS, LINK_MINUTES } from '../../../domain/member/sign-in-link.ts';
import { endpoint } from '../../endpoint.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import { linkSchema, memberSchema, type SerializedLink, serializeMember } from '../../schemas/member.ts';
import { shownLine } from '../../validation/fields.ts';
import { bareAddress } from '../messages/send-fields.ts';

const serializeLink = ({ token, expiresAt }: MadeLink, publicUrl: string, mailed: boolean): SerializedLink => ({
  object: 'sign_in_link',
  url: signInUrl(publicUrl, token),
  expires_at: expiresAt,
  mailed,
});

const NAME_CHARACTERS_MAX = 100;

/** A session is as powerful as a key without limits, so a key with limits cannot add members. */
const MEMBER_BOUNDS = { allowedCidrs: [], expiresAt: null, rateLimits: {} };

const ROLES = `\`owner\`: everything. \`developer\`: \`send\`, \`read\` and \`manage\`. \`analyst\`: \`read\`, without addresses,
subjects and bodies of mail. \`auditor\`: reads everything but these, and changes nothing. Owners may allow either to see them:
\`PUT /v1/organization/contents\`.`;

export const inviteMemberRoute = endpoint(
  'POST /v1/members',
  {
    summary: 'Invite a person to the dashboard',
    description:
      `${ROLES} The response contains the link that accepts the invitation. It works once, for ${INVITATION_DAYS} days, and is ` +
      'shown only here. If this service sends mail, the link is also mailed to the person (`link.mailed`). To renew ' +
      'the invitation, make another link (`POST /v1/members/:id/links`). To withdraw it, remove the member ' +
      `(\`DELETE /v1/members/:id\`). An organization has at most ${MEMBERS_MAX} members.`,
    body: z.strictObject({
      email: bareAddress.describe('One email address without a name.'),
      name: shownLine(NAME_CHARACTERS_MAX).optional().describe('Name of the member. Default: the address.'),
      role: roleSchema.describe('Role of the member.'),
    }),
    examples: { 'A developer': { email: 'ann@example.net', name: 'Ann', role: 'developer' } },
    answer: memberSchema.extend({ link: linkSchema }).meta({ id: 'InvitedMember' }),
    etag: false,
  },
  async ({ caller, origin, body: { email, name = email, role }, request, reply }, { deps, signInMail }) => {
    const { context, publicUrl } = deps;
    requireWithin(caller, MEMBER_BOUNDS);
    const invited = await inviteMember(context, origin, { email, name, role });
    const { member, link } = invited;
    const mailed = await signInMail.invite({ ...invited, organizationId: caller.organizationId }, request);
    reply.header('location', `/v1/members/${member.memberId}`);
    return { ...serializeMember(member, context.system.now()), link: serializeLink(link, publicUrl, mailed) };
  },
);

export const listMembersRoute = endpoint(
  'GET /v1/members',
  { summary: 'List members, the longest known first', answer: listSchema(memberSchema) },
  async ({ caller: { organizationId } }, { deps: { context } }) =>
    listOf(
      (await listMembers(context, organizationId)).map((member) => serializeMember(member, context.system.now())),
      false,
      null,
    ),
);

export const getMemberRoute = endpoint(
  'GET /v1/members/:id',
  { summary: 'Read a member', answer: memberSchema, etag: false },
  async ({ caller: { organizationId }, id }, { deps: { context } }) =>
    serializeMember(await loadMember(context, organizationId, id), context.system.now()),
);

export const changeMemberRoute = endpoint(
  'PATCH /v1/members/:id',
  {
    summary: 'Give a member another role',
    description: `${ROLES} The change applies to open sessions within a second. The last owner who has signed in cannot lose the role.`,
    body: z.strictObject({ role: roleSchema.describe('New role of the member.') }),
    examples: { 'Now an owner': { role: 'owner' } },
    answer: memberSchema,
  },
  async ({ caller, origin, id, body: { role } }, { deps: { context } }) => {
    requireWithin(caller, MEMBER_BOUNDS);
    return serializeMember(await changeMemberRole(context, origin, { memberId: id, role }), context.system.now());
  },
);

export const removeMemberRoute = endpoint(
  'DELETE /v1/members/:id',
  {
    summary: 'Remove a member',
    description:
      'Their sessions end within a second. Their actions stay on record. If they have not joined yet, this withdraws ' +
      'the invitation: its links stop working.',
  },
  async ({ origin, id }, { deps: { context } }) => removeMember(context, origin, { memberId: id, by: 'member' }),
);

export const createMemberLinkRoute = endpoint(
  'POST /v1/members/:id/links',
  {
    summary: 'Make another link for a member',
    description:
      `The link works once, for ${LINK_MINUTES} minutes, and is shown only here. For a member who has not joined yet, it renews ` +
      `the invitation: the link works for ${INVITATION_DAYS} days and is mailed like the first one. Earlier links keep ` +
      `working. At most ${HANDED_LINKS_MAX} are valid at once; another link revokes the oldest.`,
    answer: linkSchema.meta({ id: 'SignInLink' }),
    etag: false,
  },
  async ({ caller, origin, id, request, reply }, { deps: { context, publicUrl }, signInMail }) => {
    const { organizationId } = caller;
    requireWithin(caller, MEMBER_BOUNDS);
    const link = await createSignInLink(context, origin, { memberId: id });
    const member = await loadMember(context, organizationId, id);
    const isInvitation = member.status === 'invited';
    const mailed = isInvitation && (await signInMail.invite({ organizationId, member, link }, request));
    reply.header('location', `/v1/members/${id}`);
    return serializeLink(link, publicUrl, mailed);
  },
);
