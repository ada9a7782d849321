import { z } from 'zod';
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

/** As the provider sent it in the query of the address that it led back to. */
export const oidcAnswerSchema = z.strictObject({
  code: z.string().min(1).max(CODE_CHARACTERS_MAX),
  state: z.string().min(1).max(SHORT_CHARACTERS_MAX),
  issuer: z.string().max(SHORT_CHARACTERS_MAX).optional().describe('`iss`, where it is there.'),
});
export type OidcAnswer = z.infer<typeof oidcAnswerSchema>;

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
      .strictObject({ host: z.string().describe('Of its issuer.') })
      .nullable()
      .describe('The identity provider; null: there is none.'),
  })
  .meta({ id: 'SignInMethods' });
export type SignInMethods = z.infer<typeof signInMethodsSchema>;
