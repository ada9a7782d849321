import { z } from 'zod';

/** Ways in which members sign in. */

export const mailedLinkSchema = z
  .strictObject({
    object: z.literal('mailed_sign_in_link'),
    expires_in_minutes: z.number().int(),
  })
  .meta({ id: 'MailedSignInLink' });

export const signInMethodsSchema = z
  .strictObject({
    object: z.literal('sign_in_methods'),
    mailed_link: z
      .strictObject({
        is_captured: z.boolean().describe('Mail stays on the machine of the service: the link is in its inbox.'),
      })
      .nullable()
      .describe('null: no domain of this service may send mail.'),
  })
  .meta({ id: 'SignInMethods' });
export type SignInMethods = z.infer<typeof signInMethodsSchema>;
