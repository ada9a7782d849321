import { listMembers, type NamedMember } from '../../../commands/member.ts';
import { endSession } from '../../../commands/session.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { type ExistingSession, endOfSession, idleMsOf } from '../../../domain/member/session.ts';
import { endpoint, type RouteContext } from '../../endpoint.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import { type MemberSession, memberSessionSchema } from '../../schemas/member.ts';

/** Sessions of an organization that are not over. */

/** Sessions that work, the last begun first. */
const openSessions = async (
  { deps: { context, usageMarks }, auth: { keyCache } }: RouteContext,
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
  { summary: 'List open sessions of members, newest first', answer: listSchema(memberSessionSchema) },
  async ({ caller: { organizationId, member } }, route) =>
    listOf([...(await openSessions(route, organizationId, member?.sessionId))], false, null),
);

export const getMemberSessionRoute = endpoint(
  'GET /v1/sessions/:id',
  { summary: 'Read an open session', answer: memberSessionSchema, etag: false },
  ({ caller: { organizationId, member }, id: sessionId }, route) =>
    requireOpen(route, { organizationId, sessionId }, member?.sessionId),
);

export const endMemberSessionRoute = endpoint(
  'DELETE /v1/sessions/:id',
  { summary: 'End a session', description: 'The browser is signed out within a second.' },
  async ({ caller: { organizationId, member }, origin, id: sessionId }, route) => {
    await requireOpen(route, { organizationId, sessionId }, member?.sessionId);
    await endSession(route.deps.context, origin, sessionId);
  },
);
