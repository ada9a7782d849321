import { z } from 'zod';
import type { NamedMember } from '../../commands/member.ts';
import { permissionSchema } from '../../domain/api-key/events.ts';
import { environmentSchema } from '../../domain/kernel/ids.ts';
import { invitationExpiry } from '../../domain/member/create-sign-in-link.ts';
import { roleSchema } from '../../domain/member/events.ts';

import { timeSchema } from './envelope.ts';

/** Members of an organization, and their sessions. */

export const memberSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('member'),
    name: z.string(),
    email: z.string().nullable().describe('null: the first owner, who has no address yet.'),
    role: roleSchema,
    operator: z
      .boolean()
      .describe('May read the health of the service. Only the command line of the service grants it.'),
    status: z.enum(['invited', 'joined']).describe('`invited`: they have not accepted the invitation yet.'),
    invited_at: timeSchema(),
    invitation_expires_at: timeSchema()
      .nullable()
      .describe('Until then the invitation can be accepted. null: they have joined, or the invitation has expired.'),
    joined_at: timeSchema().nullable(),
    passkeys: z.int().describe('Number of passkeys (`GET /v1/members/:id/passkeys`).'),
  })
  .meta({ id: 'Member' });

export type SerializedMember = z.infer<typeof memberSchema>;

export const linkSchema = z.strictObject({
  object: z.literal('sign_in_link'),
  url: z.string().describe('Shown once. The part after `#` is not sent to any server until the person confirms.'),
  expires_at: timeSchema(),
  mailed: z.boolean().describe('True if the link was also mailed to the member. False if mail is captured.'),
});

export type SerializedLink = z.infer<typeof linkSchema>;

export const serializeMember = (member: NamedMember, now: Date): SerializedMember => ({
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
    id: z.string().nullable().describe('Id of the session; null: the request was authenticated by an API key.'),
    object: z.literal('session'),
    member: z
      .strictObject({ id: z.string(), name: z.string(), email: z.string().nullable(), role: roleSchema })
      .nullable()
      .describe('null: an API key.'),
    api_key_id: z.string().nullable().describe('null: a member.'),
    permissions: z.array(permissionSchema),
    contents: z.boolean().describe('True if addresses, subjects and bodies of mail are visible.'),
    changes: z.boolean().describe('True if changes are allowed.'),
    operator: z.boolean().describe('True if `GET /v1/service` is allowed.'),
    present_until: timeSchema()
      .nullable()
      .describe(
        'Until then, actions that require recent authentication are allowed; later they fail with `presence_required`. null: an API key.',
      ),
    first_passkey_until: timeSchema()
      .nullable()
      .describe(
        'Until then the member, who has no passkey and signed in with a link from the operator, may add one without ' +
          'authenticating again. null: not allowed.',
      ),
    environment: environmentSchema.describe(
      'Environment of this request. Members choose it with `environment=test` in the query of any request; `live` otherwise.',
    ),
    organization: z.strictObject({ id: z.string(), name: z.string() }),
  })
  .meta({ id: 'Session' });

export type SerializedSession = z.infer<typeof sessionSchema>;

export const memberSessionSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('member_session'),
    member_id: z.string(),
    member_name: z.string(),
    is_current: z.boolean().describe('True for the session that sent this request.'),
    started_at: timeSchema(),
    last_used_at: timeSchema().describe('Rounded to the minute.'),
    last_address: z.string().nullable().describe('IP address of its last request.'),
    expires_at: timeSchema().describe(
      'The session ends earlier if it is idle for longer than the organization allows.',
    ),
  })
  .meta({ id: 'MemberSession' });
export type MemberSession = z.infer<typeof memberSessionSchema>;
