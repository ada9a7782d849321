import { z } from 'zod';
import { roleSchema } from '../../domain/member/events.ts';
import { timeSchema } from './envelope.ts';

/** Ways in which members sign in. */

export const mailedLinkSchema = z
  .strictObject({
    object: z.literal('mailed_sign_in_link'),
    expires_in_minutes: z.number().int(),
  })
  .meta({ id: 'MailedSignInLink' });

export const oidcTransactionSchema = z
  .strictObject({
    object: z.literal('oidc_transaction'),
    url: z.string().describe('Of the identity provider: the browser goes there.'),
    expires_at: timeSchema(),
  })
  .meta({ id: 'OidcTransaction' });
export type SerializedOidcTransaction = z.infer<typeof oidcTransactionSchema>;

/** Providers differ in how long their codes are: some put a whole token in. */
const CODE_CHARACTERS_MAX = 8_000;
const SHORT_CHARACTERS_MAX = 500;

/** Query parameters of the identity provider's redirect. */
export const oidcAnswerSchema = z.strictObject({
  code: z.string().min(1).max(CODE_CHARACTERS_MAX),
  state: z.string().min(1).max(SHORT_CHARACTERS_MAX),
  issuer: z.string().max(SHORT_CHARACTERS_MAX).optional().describe('`iss`, where it is there.'),
});
export type OidcAnswer = z.infer<typeof oidcAnswerSchema>;

const membershipSchema = z
  .strictObject({
    member_id: z.string(),
    organization: z.strictObject({ id: z.string(), name: z.string() }),
    role: roleSchema,
    status: z.enum(['invited', 'joined']).describe('`invited`: choosing it accepts the invitation.'),
  })
  .meta({ id: 'Membership' });

export const signInChoiceSchema = z
  .strictObject({
    object: z.literal('sign_in_choice'),
    choice: z.string().describe('Send it with a `member_id` as `membership` of `POST /v1/session`. It works once.'),
    memberships: z.array(membershipSchema).describe('Joined ones first.'),
    expires_at: timeSchema(),
  })
  .meta({ id: 'SignInChoice' });
export type SerializedSignInChoice = z.infer<typeof signInChoiceSchema>;

const CHOICE_CHARACTERS_MAX = 8_000;

export const membershipChoiceSchema = z.strictObject({
  choice: z.string().max(CHOICE_CHARACTERS_MAX),
  member_id: z.string().max(SHORT_CHARACTERS_MAX),
});
export type MembershipChoice = z.infer<typeof membershipChoiceSchema>;

export const signInMethodsSchema = z
  .strictObject({
    object: z.literal('sign_in_methods'),
    mailed_link: z
      .strictObject({
        is_captured: z.boolean().describe('Mail stays on the machine of the service: the link is in its inbox.'),
      })
      .nullable()
      .describe('null: no domain of this service may send mail.'),
    oidc: z
      .strictObject({ host: z.string().describe('Host of its issuer.') })
      .nullable()
      .describe('The identity provider; null: not configured.'),
  })
  .meta({ id: 'SignInMethods' });
export type SignInMethods = z.infer<typeof signInMethodsSchema>;
