import { z } from 'zod';
import {
  changeMemberRole,
  createSignInLink,
  inviteMember,
  listMembers,
  loadMember,
  type MadeLink,
  type NamedMember,
  removeMember,
} from '../../../commands/member.ts';
import { endSession } from '../../../commands/session.ts';
import { requireWithin } from '../../../domain/api-key/caller.ts';
import { permissionSchema } from '../../../domain/api-key/events.ts';
import { signInUrl } from '../../../domain/kernel/addresses.ts';
import { environmentSchema } from '../../../domain/kernel/environment.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { roleSchema } from '../../../domain/member/events.ts';
import { HANDED_LINKS_MAX, INVITATION_DAYS, LINK_MINUTES, MEMBERS_MAX } from '../../../domain/member/member.ts';
import { type ExistingSession, endOfSession, idleMsOf, invitationExpiry } from '../../../domain/member/session.ts';
import { endpoint, type RouteContext } from '../../endpoint.ts';
import { listOf, listSchema, shownLine, timeSchema } from '../../fields.ts';
import { bareAddress } from '../messages/send-fields.ts';
import { browserName } from './browser-name.ts';

/** Members of an organization, and their sessions. */

const memberSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('member'),
    name: z.string(),
    email: z.string().nullable().describe('null: the first owner has no address yet.'),
    role: roleSchema,
    operator: z
      .boolean()
      .describe('true: an operator, who can read the health of the service. Only the command line can grant this.'),
    status: z.enum(['invited', 'joined']).describe('`invited`: the person has not accepted the invitation yet.'),
    invited_at: timeSchema(),
    invitation_expires_at: timeSchema()
      .nullable()
      .describe(
        'Time until which the invitation can be accepted. null: the person has joined, or the invitation has expired.',
      ),
    joined_at: timeSchema().nullable(),
    passkeys: z.int().describe('Number of passkeys (`GET /v1/members/:id/passkeys`).'),
  })
  .meta({ id: 'Member' });

export type SerializedMember = z.infer<typeof memberSchema>;

const linkSchema = z.strictObject({
  object: z.literal('sign_in_link'),
  url: z
    .string()
    .describe(
      'The link, shown only once. Browsers do not send the part after `#` to a server until the person confirms.',
    ),
  expires_at: timeSchema(),
  mailed: z
    .boolean()
    .describe('true: the link was also mailed to the member. false: it was not, because mail is captured.'),
});

export type SerializedLink = z.infer<typeof linkSchema>;

const serializeMember = (member: NamedMember, now: Date): SerializedMember => ({
  id: member.memberId,
  object: 'member',
  name: member.name,
  email: member.email,
  role: member.role,
  operator: member.isOperator,
  status: member.status,
  invited_at: member.invitedAt,
  invitation_expires_at: invitationExpiry(member, now.toISOString()),
  joined_at: member.joinedAt,
  passkeys: member.passkeys.length,
});

export const sessionSchema = z
  .strictObject({
    id: z.string().nullable().describe('Id of the session. null: the request was authenticated by an API key.'),
    object: z.literal('session'),
    member: z
      .strictObject({ id: z.string(), name: z.string(), email: z.string().nullable(), role: roleSchema })
      .nullable()
      .describe('null: the request was authenticated by an API key.'),
    api_key_id: z.string().nullable().describe('null: the request was authenticated by a member.'),
    permissions: z.array(permissionSchema),
    contents: z.boolean().describe('true: addresses, subjects and bodies of mail are visible.'),
    changes: z.boolean().describe('true: changes are allowed.'),
    operator: z.boolean().describe('true: `GET /v1/service` is allowed.'),
    present_until: timeSchema()
      .nullable()
      .describe(
        'Time until which actions that require recent authentication are allowed. Later they fail with `presence_required`. null: an API key.',
      ),
    first_passkey_until: timeSchema()
      .nullable()
      .describe(
        'Time until which the member can add a first passkey without authenticating again, after signing in with a link from ' +
          'the operator. null: not allowed.',
      ),
    environment: environmentSchema.describe(
      'Environment of this request. Members select the test environment with `environment=test` in the query of any request. Default: `live`.',
    ),
    organization: z.strictObject({ id: z.string(), name: z.string() }),
  })
  .meta({ id: 'Session' });

export type SerializedSession = z.infer<typeof sessionSchema>;

const memberSessionSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('member_session'),
    member_id: z.string(),
    member_name: z.string(),
    is_current: z.boolean().describe('true: the session that sends this request.'),
    started_at: timeSchema(),
    last_used_at: timeSchema().describe('Time of the last request, rounded to the minute.'),
    last_address: z.string().nullable().describe('IP address of the last request.'),
    browser: z
      .string()
      .nullable()
      .describe('Browser that signed in, such as `Firefox 142 on Linux`, as it calls itself. null: unknown.'),
    expires_at: timeSchema().describe(
      'Time when the session ends. It ends earlier if it is idle for longer than the organization allows.',
    ),
  })
  .meta({ id: 'MemberSession' });
export type MemberSession = z.infer<typeof memberSessionSchema>;

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
subjects and bodies of mail. \`auditor\`: can read everything except these, and change nothing. Owners can allow both
roles to see them with \`PUT /v1/organization/contents\`.`;

export const inviteMemberRoute = endpoint(
  'POST /v1/members',
  {
    summary: 'Invite a member',
    description:
      `${ROLES} The response contains the link that accepts the invitation. It works once, for ${INVITATION_DAYS} days, and is ` +
      'shown only here. If this service sends mail, the link is also mailed to the person (`link.mailed`). To renew ' +
      'the invitation, create another link (`POST /v1/members/:id/links`). To withdraw it, remove the member ' +
      `(\`DELETE /v1/members/:id\`). An organization has at most ${MEMBERS_MAX} members.`,
    body: z.strictObject({
      email: bareAddress.describe('One email address without a name.'),
      name: shownLine(NAME_CHARACTERS_MAX).optional().describe('Name of the person. Default: the address.'),
      role: roleSchema.describe('Role of the person.'),
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
  { summary: 'List members', answer: listSchema(memberSchema) },
  async ({ caller: { organizationId } }, { deps: { context } }) =>
    listOf(
      (await listMembers(context, organizationId)).map((member) => serializeMember(member, context.system.now())),
      false,
      null,
    ),
);

export const getMemberRoute = endpoint(
  'GET /v1/members/:id',
  { summary: 'Get a member', answer: memberSchema, etag: false },
  async ({ caller: { organizationId }, id }, { deps: { context } }) =>
    serializeMember(await loadMember(context, organizationId, id), context.system.now()),
);

export const changeMemberRoute = endpoint(
  'PATCH /v1/members/:id',
  {
    summary: 'Change the role of a member',
    description: `${ROLES} The change applies to open sessions within a second. You cannot change the role of the last owner who has signed in.`,
    body: z.strictObject({ role: roleSchema.describe('New role of the member.') }),
    examples: { 'Make a member an owner': { role: 'owner' } },
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
      'Removes the member and ends their sessions within a second. Their actions stay on record. If the person has not ' +
      'joined yet, this withdraws the invitation: its links stop working.',
  },
  async ({ origin, id }, { deps: { context, memberViews } }) => {
    await removeMember(context, origin, { memberId: id, by: 'member' });
    await memberViews.replace({ organizationId: origin.organizationId, memberId: id }, []);
  },
);

export const createMemberLinkRoute = endpoint(
  'POST /v1/members/:id/links',
  {
    summary: 'Create a sign-in link for a member',
    description:
      `The link works once, for ${LINK_MINUTES} minutes, and is shown only here. For a person who has not joined yet, it renews ` +
      `the invitation: the link works for ${INVITATION_DAYS} days and is mailed like the first one. Earlier links keep ` +
      `working. At most ${HANDED_LINKS_MAX} links are valid at once; another link revokes the oldest.`,
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

/** Sessions of an organization that are not over. */

/** Sessions that work, the last begun first. */
const openSessions = async (
  { deps: { context, usageMarks, requestOrigins }, auth: { keyCache } }: RouteContext,
  organizationId: string,
  current: string | undefined,
): Promise<readonly MemberSession[]> => {
  const members = new Map<string, NamedMember>(
    (await listMembers(context, organizationId)).map((member) => [member.memberId, member]),
  );
  const nowMs = context.system.now().getTime();
  const limits = keyCache.settingsOf(organizationId);
  const found = [...(await keyCache.load()).sessions.values()].filter(
    (session) =>
      session.organizationId === organizationId &&
      members.has(session.memberId) &&
      endOfSession(session, limits).getTime() > nowMs,
  );
  const marks = new Map(
    (await usageMarks.of(found.map(({ sessionId }) => sessionId))).map((mark) => [mark.keyId, mark]),
  );
  const userAgents = await requestOrigins.userAgentsOf(
    organizationId,
    found.flatMap(({ originId }) => originId ?? []),
  );
  const serialize = (session: ExistingSession): MemberSession => {
    const mark = marks.get(session.sessionId);
    return {
      id: session.sessionId,
      object: 'member_session',
      member_id: session.memberId,
      member_name: members.get(session.memberId)?.name ?? '',
      is_current: session.sessionId === current,
      started_at: session.startedAt,
      last_used_at: mark?.lastUsedAt.toISOString() ?? session.startedAt,
      last_address: mark?.lastAddress ?? null,
      browser: browserName(userAgents.get(session.originId ?? '') ?? ''),
      expires_at: endOfSession(session, limits).toISOString(),
    };
  };
  return found
    .map(serialize)
    .filter(({ last_used_at }) => nowMs - Date.parse(last_used_at) < idleMsOf(limits))
    .sort((one, other) => (one.started_at < other.started_at ? 1 : -1));
};

const requireOpen = async (
  route: RouteContext,
  { organizationId, sessionId }: { readonly organizationId: string; readonly sessionId: string },
  current: string | undefined,
): Promise<MemberSession> => {
  const found = (await openSessions(route, organizationId, current)).find(({ id }) => id === sessionId);
  if (found === undefined) throw new DomainError('not_found', 'session not found');
  return found;
};

export const listMemberSessionsRoute = endpoint(
  'GET /v1/sessions',
  { summary: 'List open sessions', answer: listSchema(memberSessionSchema) },
  async ({ caller: { organizationId, member } }, route) =>
    listOf([...(await openSessions(route, organizationId, member?.sessionId))], false, null),
);

export const getMemberSessionRoute = endpoint(
  'GET /v1/sessions/:id',
  { summary: 'Get an open session', answer: memberSessionSchema, etag: false },
  ({ caller: { organizationId, member }, id: sessionId }, route) =>
    requireOpen(route, { organizationId, sessionId }, member?.sessionId),
);

export const endMemberSessionRoute = endpoint(
  'DELETE /v1/sessions/:id',
  { summary: 'End a session', description: 'Signs the browser out within a second.' },
  async ({ caller: { organizationId, member }, origin, id: sessionId }, route) => {
    await requireOpen(route, { organizationId, sessionId }, member?.sessionId);
    await endSession(route.deps.context, origin, sessionId);
  },
);
