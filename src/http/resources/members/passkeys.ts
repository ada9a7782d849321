import { timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { addPasskey, listPasskeys, removePasskey } from '../../../commands/session.ts';
import { withHostName } from '../../../domain/kernel/addresses.ts';
import { keyedBytes } from '../../../domain/kernel/digest.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { PASSKEYS_MAX, type Passkey } from '../../../domain/member/member.ts';
import { isPresent } from '../../../domain/member/session.ts';
import type { TrackingKeys } from '../../../domain/tracking/tracking.ts';
import type { System } from '../../../lib/async/async.ts';
import { BROWSER_COOKIE, cookieOf, cookiesIn, isSecure, requireSameOrigin } from '../../auth/authenticate.ts';
import { endpoint, publicEndpoint, type RouteContext } from '../../endpoint.ts';
import { listOf, listSchema, timeSchema } from '../../fields.ts';
import { keepOrigin } from '../../request-origin.ts';

/** Passkeys of members, and the WebAuthn responses that browsers send. */

/** An authenticator's answer has a kilobyte; credential ids have 1,023 bytes at most (WebAuthn §5.8.3). */
const CHARACTERS_MAX = 8_000;

const base64url = (description: string) =>
  z
    .string()
    .min(1)
    .max(CHARACTERS_MAX)
    .regex(/^[\w-]+$/, 'must be base64url without padding')
    .describe(description);

const passkeySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('passkey'),
    credential_id: z.string().describe('Credential id that browsers and authenticators use (WebAuthn).'),
    synced: z.boolean().describe('true: the passkey is synced between devices.'),
    created_at: timeSchema(),
  })
  .meta({ id: 'Passkey' });

export type SerializedPasskey = z.infer<typeof passkeySchema>;

const serializePasskey = ({ passkeyId, credentialId, isSynced, addedAt }: Passkey): SerializedPasskey => ({
  id: passkeyId,
  object: 'passkey',
  credential_id: credentialId,
  synced: isSynced,
  created_at: addedAt,
});

const challengeSchema = z
  .strictObject({
    object: z.literal('challenge'),
    challenge: z.string().describe('Challenge to sign, in base64url.'),
    rp_id: z.string().describe('Relying party id: the host name that passkeys are bound to.'),
    expires_at: timeSchema(),
  })
  .meta({ id: 'Challenge' });

export type SerializedChallenge = z.infer<typeof challengeSchema>;

/** Response of `navigator.credentials.get`. */
export const assertionSchema = z.strictObject({
  credential_id: base64url('The `id` of the credential.'),
  client_data: base64url('Its `response.clientDataJSON`.'),
  authenticator_data: base64url('Its `response.authenticatorData`.'),
  signature: base64url('Its `response.signature`.'),
  user_handle: base64url('Its `response.userHandle`.'),
});

/**
 * Passkeys as WebAuthn has them: challenges, and the check of what authenticators answer.
 *
 * A challenge holds when it ends, and a MAC over that and over a value in a cookie of the browser: none is stored, so that
 * no number of requests fills anything. It is used once because the session's id follows from it, and because a passkey
 * is added once.
 */

/** The relying party that passkeys are bound to (WebAuthn §5.4.2). */
interface RelyingParty {
  /** Name of the host. */
  readonly id: string;
  /** Origins of pages that may use them. */
  readonly origins: readonly string[];
}

/**
 * @param port on which the request came: that of this machine may have been chosen by it.
 * @returns null: browsers make no passkeys for the address, which names no host or is plain HTTP (WebAuthn §5.1.3).
 */
const relyingPartyOf = (publicUrl: string, port: number | undefined): RelyingParty | null => {
  const { hostname, protocol, origin } = withHostName(new URL(publicUrl));
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null;
  if (hostname === 'localhost' && port !== undefined)
    return { id: hostname, origins: [origin, `${protocol}//${hostname}:${port}`] };
  return protocol === 'https:' || hostname === 'localhost' ? { id: hostname, origins: [origin] } : null;
};

/** Time to find the phone or type a PIN. Longer: a stolen response stays usable for longer. */
const CHALLENGE_SECONDS = 300;

const EXPIRY_BYTES = 6;
const NONCE_BYTES = 16;
const MAC_BYTES = 32;
const MAC_AT = EXPIRY_BYTES + NONCE_BYTES;
const CHALLENGE = /^[\w-]{72}$/;

/** Random value of the cookie that binds challenges to a browser. */
export const BROWSER_BYTES = 32;

type Keys = Pick<TrackingKeys[number], 'bytes'>;

const macOf = ({ bytes }: Keys, browser: string, head: Buffer): Buffer =>
  keyedBytes(bytes, 'passkey challenge', `${browser}\0${head.toString('base64url')}`);

/** @param browser value of its cookie. @returns 72 characters, base64url. */
const makeChallenge = ([key]: TrackingKeys, browser: string, system: Pick<System, 'now' | 'randomBytes'>): string => {
  const head = Buffer.alloc(MAC_AT);
  head.writeUIntBE(system.now().getTime() + CHALLENGE_SECONDS * 1000, 0, EXPIRY_BYTES);
  head.set(system.randomBytes(NONCE_BYTES), EXPIRY_BYTES);
  return Buffer.concat([head, macOf(key, browser, head)]).toString('base64url');
};

/** Whether this service made it for this browser, and it has not ended. */
const isChallenge = (keys: TrackingKeys, browser: string, challenge: string, now: Date): boolean => {
  if (!CHALLENGE.test(challenge)) return false;
  const bytes = Buffer.from(challenge, 'base64url');
  const [head, mac] = [bytes.subarray(0, MAC_AT), bytes.subarray(MAC_AT, MAC_AT + MAC_BYTES)];
  return (
    head.readUIntBE(0, EXPIRY_BYTES) > now.getTime() &&
    keys.some((key) => timingSafeEqual(mac, macOf(key, browser, head)))
  );
};

/** Read when a passkey is first used: it and its readers of certificates take 25 MB of memory. */
const webAuthn = async () => ({
  ...(await import('@simplewebauthn/server')),
  ...(await import('@simplewebauthn/server/helpers')),
});

interface ExpectedValues {
  readonly party: RelyingParty;
  readonly isExpected: (challenge: string) => boolean;
}

/** Response of `navigator.credentials.create`; all fields are base64url. */
interface Registration {
  readonly credentialId: string;
  readonly clientData: string;
  readonly attestationObject: string;
}

/**
 * Statements about the make of an authenticator are not asked for, and are refused: checking their certificates would
 * make requests to addresses that they name. One that an authenticator signs itself has none.
 */
const isWithoutCertificates = (
  { decodeAttestationObject, isoBase64URL }: Awaited<ReturnType<typeof webAuthn>>,
  attestationObject: string,
): boolean => {
  const decoded = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
  const format = decoded.get('fmt');
  return format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
};

/** @returns null if it is not a passkey for this service, or its user was not verified. */
const verifyRegistration = async (
  { credentialId: id, clientData: clientDataJSON, attestationObject }: Registration,
  { party, isExpected }: ExpectedValues,
): Promise<Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'isSynced'> | null> => {
  const read = async () => {
    const library = await webAuthn();
    if (!isWithoutCertificates(library, attestationObject)) return null;
    const { verified, registrationInfo } = await library.verifyRegistrationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        response: { clientDataJSON, attestationObject },
        clientExtensionResults: {},
      },
      expectedChallenge: isExpected,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: true,
    });
    if (!verified || registrationInfo.credential.id !== id) return null;
    const { credential, credentialBackedUp } = registrationInfo;
    return {
      credentialId: credential.id,
      publicKey: library.isoBase64URL.fromBuffer(credential.publicKey),
      counter: credential.counter,
      isSynced: credentialBackedUp,
    };
  };
  // The library throws for any invalid input.
  return read().catch(() => null);
};

/** Response of `navigator.credentials.get`; all fields are base64url. */
interface Assertion {
  readonly credentialId: string;
  readonly clientData: string;
  readonly authenticatorData: string;
  readonly signature: string;
}

interface VerifiedAssertion {
  /** The signed challenge. */
  readonly challenge: string;
  /** Signatures so far; 0: the authenticator does not count. */
  readonly counter: number;
}

/** @returns null if this passkey did not sign a challenge of this service, or its owner was not verified. */
export const verifyAssertion = async (
  { credentialId: id, clientData: clientDataJSON, authenticatorData, signature }: Assertion,
  { credentialId, publicKey }: Pick<Passkey, 'credentialId' | 'publicKey'>,
  { party, isExpected }: ExpectedValues,
): Promise<VerifiedAssertion | null> => {
  let challenge = '';
  const read = async () => {
    const { verifyAuthenticationResponse, parseAuthenticatorData, isoBase64URL } = await webAuthn();
    const { verified } = await verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        response: { clientDataJSON, authenticatorData, signature },
        clientExtensionResults: {},
      },
      expectedChallenge: (signed) => {
        challenge = signed;
        return isExpected(signed);
      },
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      // The count is the business of the members' aggregate.
      credential: { id: credentialId, publicKey: isoBase64URL.toBuffer(publicKey), counter: 0 },
      requireUserVerification: true,
    });
    const { counter } = parseAuthenticatorData(isoBase64URL.toBuffer(authenticatorData));
    return verified ? { challenge, counter } : null;
  };
  return read().catch(() => null);
};

/** Passkeys of the member who asks, and the challenges that they answer. */

/** @throws {DomainError} `invalid_request`. */
const requireParty = ({ auth }: RouteContext, { socket }: Pick<FastifyRequest, 'socket'>) => {
  const party = relyingPartyOf(auth.publicUrl, socket.localPort);
  if (party !== null) return party;
  throw new DomainError(
    'invalid_request',
    'passkeys require HTTPS and a host name: set PUBLIC_URL to such an address, or use localhost',
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
    summary: 'Create a passkey challenge',
    description:
      'Returns a challenge, which a passkey signs when it is added and at each sign-in. A cookie binds the challenge to the browser, ' +
      `and it is valid for ${CHALLENGE_SECONDS / 60} minutes. Only pages of this service may send this request.`,
    body: z.strictObject({}),
    examples: { 'Create a challenge': {} },
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
      'Adds a passkey with which you can sign in. Send the result of the browser’s `navigator.credentials.create` for a challenge (`POST /v1/session/challenges`), with ' +
      'your member id as `user.id`, and a resident key and user verification both required; `attestation` is `none`. ' +
      `A member can have at most ${PASSKEYS_MAX}. A member without a passkey who signed in with a link from the operator may ` +
      'add the first one for an hour (`first_passkey_until` of the session) without authenticating again, and is notified by mail.',
    body: z.strictObject({
      credential_id: base64url('The `id` of the credential.'),
      client_data: base64url('Its `response.clientDataJSON`.'),
      attestation_object: base64url('Its `response.attestationObject`.'),
    }),
    examples: {
      'A passkey on a phone': {
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
    if (member === undefined) throw new Error('only members can call this route');
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
        'the passkey did not sign a challenge of this page, or did not verify you: try again',
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
    summary: 'Remove your passkey',
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
      'Use this when a device is lost. The passkey can no longer sign in. End the open sessions of the member as well.',
  },
  async ({ origin, id: memberId, request }, { deps }) => {
    const { passkey: passkeyId } = request.params as { readonly passkey: string }; // of the path
    await removePasskey(deps.context, await keepOrigin(deps, origin, request), { memberId, passkeyId });
  },
);
