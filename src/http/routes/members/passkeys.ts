import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { addPasskey, listPasskeys, removePasskey } from '../../../commands/passkey.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { PASSKEYS_MAX } from '../../../domain/member/passkey.ts';
import { isPresent } from '../../../domain/member/session.ts';
import {
  BROWSER_BYTES,
  CHALLENGE_SECONDS,
  isChallenge,
  makeChallenge,
  relyingPartyOf,
  verifyRegistration,
} from '../../auth/passkeys.ts';
import { BROWSER_COOKIE, cookieOf, cookiesIn, isSecure, requireSameOrigin } from '../../auth/presented.ts';
import { endpoint, publicEndpoint, type RouteContext } from '../../endpoint.ts';
import { keepOrigin } from '../../request-origin.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import { base64url, challengeSchema, passkeySchema, serializePasskey } from '../../schemas/passkey.ts';

/** Passkeys of the member who asks, and the challenges that they answer. */

/** @throws {DomainError} `invalid_request`. */
const requireParty = ({ auth }: RouteContext, { socket }: Pick<FastifyRequest, 'socket'>) => {
  const party = relyingPartyOf(auth.publicUrl, socket.localPort);
  if (party !== null) return party;
  throw new DomainError(
    'invalid_request',
    'passkeys need the name of a host and HTTPS: set PUBLIC_URL to such an address, or use localhost',
  );
};

/** Expected values of an authenticator's response: our origin, and a challenge issued to this browser. */
export const expectedIn = (route: RouteContext, request: FastifyRequest) => {
  const { auth, deps } = route;
  const [browser, ...others] = cookiesIn(request, BROWSER_COOKIE, isSecure(request, auth.publicUrl));
  return {
    party: requireParty(route, request),
    isExpected: (challenge: string): boolean =>
      browser !== undefined &&
      others.length === 0 &&
      isChallenge(deps.trackingKeys, browser, challenge, auth.system.now()),
  };
};

export const createChallengeRoute = publicEndpoint(
  'POST /v1/session/challenges',
  {
    summary: 'Ask for a challenge',
    description:
      'A passkey signs the challenge when it is added and at each sign-in. A cookie binds it to the browser, ' +
      `and it is valid for ${CHALLENGE_SECONDS / 60} minutes. Only pages of this service may send this request.`,
    body: z.strictObject({}),
    examples: { 'For a passkey': {} },
    answer: challengeSchema,
  },
  async ({ request, reply }, route) => {
    const { auth, deps } = route;
    requireSameOrigin(request, auth.publicUrl);
    const party = requireParty(route, request);
    const browser = Buffer.from(auth.system.randomBytes(BROWSER_BYTES)).toString('base64url');
    const secure = isSecure(request, auth.publicUrl);
    reply.header('set-cookie', cookieOf(BROWSER_COOKIE, secure, browser, CHALLENGE_SECONDS));
    return {
      object: 'challenge',
      challenge: makeChallenge(deps.trackingKeys, browser, auth.system),
      rp_id: party.id,
      expires_at: new Date(auth.system.now().getTime() + CHALLENGE_SECONDS * 1000).toISOString(),
    };
  },
);

export const listPasskeysRoute = endpoint(
  'GET /v1/passkeys',
  { summary: 'List your passkeys', answer: listSchema(passkeySchema) },
  async ({ caller }, { deps: { context } }) =>
    listOf((await listPasskeys(context, caller.organizationId, caller.keyId)).map(serializePasskey), false, null),
);

export const addPasskeyRoute = endpoint(
  'POST /v1/passkeys',
  {
    summary: 'Add a passkey',
    description:
      'Send the result of the browser’s `navigator.credentials.create` for a challenge (`POST /v1/session/challenges`), with ' +
      'your member id as `user.id`, and a resident key and user verification both required; `attestation` is `none`. ' +
      `A member can have at most ${PASSKEYS_MAX}. A member without a passkey who signed in with a link from the operator may ` +
      'add the first one for an hour (`first_passkey_until` of the session) without authenticating again, and is notified by mail.',
    body: z.strictObject({
      credential_id: base64url('The `id` of the credential.'),
      client_data: base64url('Its `response.clientDataJSON`.'),
      attestation_object: base64url('Its `response.attestationObject`.'),
    }),
    examples: {
      'Of a phone': {
        credential_id: '6fYk0Rw2x1n5c0J8bq3Z3w',
        client_data: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0',
        attestation_object: 'o2NmbXRkbm9uZWdhdHRTdG10oA',
      },
    },
    answer: passkeySchema,
    etag: false,
  },
  async ({ caller, origin, body, request, reply }, route) => {
    const { deps, auth, signInMail } = route;
    const { keyId: memberId, member, organizationId } = caller;
    if (member === undefined) throw new Error('the route is for members alone');
    const verified = await verifyRegistration(
      {
        credentialId: body.credential_id,
        clientData: body.client_data,
        attestationObject: body.attestation_object,
      },
      expectedIn(route, request),
    );
    if (verified === null)
      throw new DomainError(
        'invalid_request',
        'this passkey does not answer a challenge of this page, or you were not verified: try again',
      );
    const kept = await keepOrigin(deps, origin, request);
    const isNowPresent = isPresent(member, auth.system.now());
    const passkey = await addPasskey(deps.context, kept, { memberId, ...verified, isPresent: isNowPresent });
    if (!isNowPresent)
      await signInMail.notifyOfPasskey({ organizationId, memberId, passkeyId: passkey.passkeyId }, request);
    reply.header('location', `/v1/passkeys/${passkey.passkeyId}`);
    return serializePasskey(passkey);
  },
);

export const removePasskeyRoute = endpoint(
  'DELETE /v1/passkeys/:passkey',
  {
    summary: 'Remove one of your passkeys',
    description: 'The passkey can no longer sign in. Open sessions stay open.',
  },
  async ({ caller, origin, request }, { deps }) => {
    const { passkey: passkeyId } = request.params as { readonly passkey: string };
    const { keyId: memberId } = caller;
    await removePasskey(deps.context, await keepOrigin(deps, origin, request), { memberId, passkeyId });
  },
);

export const listMemberPasskeysRoute = endpoint(
  'GET /v1/members/:id/passkeys',
  { summary: 'List the passkeys of a member', answer: listSchema(passkeySchema) },
  async ({ caller: { organizationId }, id }, { deps: { context } }) =>
    listOf((await listPasskeys(context, organizationId, id)).map(serializePasskey), false, null),
);

export const removeMemberPasskeyRoute = endpoint(
  'DELETE /v1/members/:id/passkeys/:passkey',
  {
    summary: 'Remove a passkey of a member',
    description:
      'Use it for a lost device. The passkey can no longer sign in; end the open sessions of the member as well.',
  },
  async ({ origin, id: memberId, request }, { deps }) => {
    const { passkey: passkeyId } = request.params as { readonly passkey: string }; // of the path
    await removePasskey(deps.context, await keepOrigin(deps, origin, request), { memberId, passkeyId });
  },
);
