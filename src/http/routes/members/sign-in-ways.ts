import { z } from 'zod';
import { LINK_MINUTES, MAILED_LINKS_MAX, MAILED_LINKS_PER_NETWORK_MAX } from '../../../domain/member/sign-in-link.ts';
import { requireSameOrigin } from '../../auth/presented.ts';
import { consumeSignInLimit } from '../../auth/rate-limits.ts';
import { publicEndpoint } from '../../endpoint.ts';
import { mailedLinkSchema, signInMethodsSchema } from '../../schemas/sign-in.ts';
import { bareAddress } from '../messages/send-fields.ts';

/** How members can sign in here, and links that the service mails. */

export const mailSignInLinkRoute = publicEndpoint(
  'POST /v1/session/links',
  {
    summary: 'Have a link to sign in mailed',
    description:
      'Mails a link to the member with this address if one has joined. The response is the same for every ' +
      `address. The link works once, for ${LINK_MINUTES} minutes, and earlier links keep working. A member can have at most ` +
      `${MAILED_LINKS_MAX} valid mailed links, ${MAILED_LINKS_PER_NETWORK_MAX} of them requested from one network; above ` +
      'that, nothing is mailed. Only pages of this service may send this request.',
    body: z.strictObject({ email: bareAddress.describe('One email address without a name.') }),
    examples: { 'For Ann': { email: 'ann@example.net' } },
    answer: mailedLinkSchema,
  },
  async ({ body: { email }, request }, { auth, signInMail }) => {
    requireSameOrigin(request, auth.publicUrl);
    await consumeSignInLimit(auth, 'sign-in-link', request.ip);
    signInMail.ask(email, request);
    return { object: 'mailed_sign_in_link', expires_in_minutes: LINK_MINUTES };
  },
);

export const getSignInMethodsRoute = publicEndpoint(
  'GET /v1/session/methods',
  { summary: 'List how members can sign in', answer: signInMethodsSchema },
  async (_call, { auth: { keyCache }, deps: { inbox, identityProvider } }) => ({
    object: 'sign_in_methods',
    mailed_link: keyCache.canSend() ? { is_captured: inbox !== null } : null,
    oidc: identityProvider === null ? null : { host: identityProvider.host },
  }),
);
