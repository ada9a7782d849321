import { provePresence } from '../../../commands/session.ts';
import { linkInvalid, passkeyInvalid } from '../../../domain/member/passkey.ts';
import { PRESENCE_MINUTES } from '../../../domain/member/session.ts';
import { consumeSignInLimit } from '../../auth/rate-limits.ts';
import { endpoint } from '../../endpoint.ts';
import { keepOrigin } from '../../request-origin.ts';
import { sessionSchema } from '../../schemas/member.ts';
import { proofBody, prove, serializeSession } from './session.ts';

export const provePresenceRoute = endpoint(
  'POST /v1/session/presence',
  {
    summary: 'Prove again who you are',
    description:
      'Authenticates with a passkey, or with the token of a new link, which is used up. Actions that require recent ' +
      `authentication (\`presence_required\`) are then allowed in this session for ${PRESENCE_MINUTES} minutes, as after signing in.`,
    body: proofBody,
    examples: { 'From a link': { token: 'ob_link_0000000000000000000000000000000000000000000000000' } },
    answer: sessionSchema,
    etag: false,
  },
  async ({ caller, callerNow, origin, body, request }, route) => {
    const { auth, deps } = route;
    const { keyId: memberId, member: calling } = caller;
    if (calling === undefined) throw new Error('the route is for members alone');
    await consumeSignInLimit(auth, 'sign-in', request.ip);
    const { member, proof, counter } = await prove(route, body, request);
    // Another member's proof is rejected and not used up.
    if (member.memberId !== memberId) throw proof.kind === 'link' ? linkInvalid() : passkeyInvalid();
    const kept = await keepOrigin(deps, { ...origin, environment: null }, request);
    await provePresence(deps.context, kept, { sessionId: calling.sessionId, memberId, proof, counter });
    return serializeSession(route, await callerNow('up to the log'));
  },
);
