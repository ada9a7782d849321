import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { loadMember } from '../../../commands/member.ts';
import { endSession, provePresence, startSession } from '../../../commands/session.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { formatSecret, readSecret } from '../../../domain/api-key/secret.ts';
import { keyedBytes, sha256Hex } from '../../../domain/kernel/digest.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { Proof } from '../../../domain/member/events.ts';
import {
  LINK_MINUTES,
  linkInvalid,
  MAILED_LINKS_MAX,
  MAILED_LINKS_PER_NETWORK_MAX,
  type Passkey,
  passkeyInvalid,
} from '../../../domain/member/member.ts';
import { PRESENCE_MINUTES, presentUntil, SESSION_MS, usedOnce } from '../../../domain/member/session.ts';
import type { TrackingKeys } from '../../../domain/tracking/tracking.ts';
import { cookieOf, isSecure, lookUp, requireSameOrigin, SESSION_COOKIE } from '../../auth/authenticate.ts';
import type { MemberOfOrganization } from '../../auth/key-cache-queries.ts';
import { consumeSignInLimit } from '../../auth/limits.ts';
import { endpoint, publicEndpoint, type RouteContext } from '../../endpoint.ts';
import { keepOrigin, requestOrigin } from '../../request-origin.ts';
import { bareAddress } from '../messages/send-fields.ts';
import { type SerializedSession, sessionSchema } from './members.ts';
import {
  type MembershipChoice,
  membershipChoiceSchema,
  type OidcAnswer,
  oidcAnswerSchema,
  proveByChoice,
  proveByOidc,
} from './oidc.ts';
import { assertionSchema, expectedIn, verifyAssertion } from './passkeys.ts';

/** Signing in with a link, a passkey or at a provider, who is signed in, and signing out. */

const serializeSession = async (
  { deps: { context }, auth: { keyCache } }: RouteContext,
  caller: Caller,
): Promise<SerializedSession> => {
  const { keyId, member: calling, organizationId, permissions, environment } = caller;
  const member =
    calling === undefined
      ? null
      : await loadMember(context, organizationId, keyId).catch((error: unknown) => {
          if (!(error instanceof DomainError) || error.code !== 'not_found') throw error;
          throw new DomainError('unauthorized', 'the session has ended: sign in again'); // the member was removed just now
        });
  return {
    id: calling?.sessionId ?? null,
    object: 'session',
    member: member === null ? null : { id: keyId, name: member.name, email: member.email, role: member.role },
    api_key_id: calling === undefined ? keyId : null,
    permissions: [...permissions],
    contents: calling?.withoutContents !== true,
    changes: calling?.safeMethodsOnly !== true,
    operator: calling?.isOperator === true,
    present_until: calling === undefined ? null : presentUntil(calling.presentAt).toISOString(),
    first_passkey_until: calling?.firstPasskeyUntil ?? null,
    environment,
    organization: { id: organizationId, name: keyCache.organizationNameOf(organizationId) },
  };
};

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A session over plain HTTP could be read on its way. */
const requireSecure = (hostname: string, secure: boolean): void => {
  if (secure || LOOPBACK.has(hostname)) return;
  throw new DomainError(
    'invalid_request',
    'sign in over HTTPS, or on this machine. If a proxy in front of the service terminates HTTPS, set PUBLIC_URL',
  );
};

/** An authenticated member and the proof they presented. */
interface ProvenMember extends MemberOfOrganization {
  readonly proof: Proof;
  /** Signature counter of the passkey. */
  readonly counter?: number | undefined;
}

/** @throws {DomainError} `sign_in_link_invalid`, `unavailable`. */
const proveByLink = async ({ auth }: RouteContext, token: string, address: string): Promise<ProvenMember> => {
  if (readSecret(token) !== 'link') throw linkInvalid();
  const linkHash = sha256Hex(token);
  const found = await lookUp(auth, address, () => auth.keyCache.memberOfLink(linkHash));
  if (found === undefined || found.link.expiresAt <= auth.system.now().toISOString()) throw linkInvalid();
  const { organizationId, member, link } = found;
  return {
    organizationId,
    member,
    proof: { kind: 'link', linkHash, ...(link.source === 'operator' && { operator: true }) },
  };
};

/** @throws {DomainError} `passkey_invalid`; `invalid_request` if this address cannot use passkeys; `unavailable`. */
const proveByPasskey = async (
  route: RouteContext,
  sent: z.infer<typeof assertionSchema>,
  request: FastifyRequest,
): Promise<ProvenMember> => {
  const { auth } = route;
  const expected = expectedIn(route, request);
  const memberId = Buffer.from(sent.user_handle, 'base64url').toString('latin1');
  const ofSent = ({ credentialId }: Passkey): boolean => credentialId === sent.credential_id;
  const found = await lookUp(auth, request.ip, () => {
    const known = auth.keyCache.memberOf(memberId);
    return known?.member.passkeys.some(ofSent) === true ? known : undefined;
  });
  const passkey = found?.member.passkeys.find(ofSent);
  if (found === undefined || passkey === undefined) throw passkeyInvalid();
  const assertion = {
    credentialId: sent.credential_id,
    clientData: sent.client_data,
    authenticatorData: sent.authenticator_data,
    signature: sent.signature,
  };
  const verified = await verifyAssertion(assertion, passkey, expected);
  if (verified === null) throw passkeyInvalid();
  const { challenge, counter } = verified;
  const { passkeyId } = passkey;
  return { ...found, proof: { kind: 'passkey', passkeyId, challengeHash: sha256Hex(challenge) }, counter };
};

const TOKEN_CHARACTERS_MAX = 100;

const proofFields = z.strictObject({
  token: z.string().max(TOKEN_CHARACTERS_MAX).optional().describe('The part of the link after `#`.'),
  passkey: assertionSchema
    .optional()
    .describe('The response of `navigator.credentials.get` to a challenge (`POST /v1/session/challenges`).'),
});

interface Proofs extends z.infer<typeof proofFields> {
  readonly oidc?: OidcAnswer | undefined;
  readonly membership?: MembershipChoice | undefined;
}

const isOne = ({ token, passkey, oidc, membership }: Proofs): boolean =>
  [token, passkey, oidc, membership].filter((each) => each !== undefined).length === 1;
const oneOf = (others: string) => ({ message: `is required, or one of ${others}`, path: ['token'] });

/** Proof of recent authentication. A provider's session may be old, so signing in there does not prove it. */
const proofBody = proofFields.refine(isOne, oneOf('passkey'));

/** 32 bytes. */
const NONCE = /^[\w-]{43}$/;

const signInBody = proofFields
  .extend({
    oidc: oidcAnswerSchema
      .optional()
      .describe('Query parameters of the identity provider’s redirect (`POST /v1/session/oidc`).'),
    membership: membershipChoiceSchema
      .optional()
      .describe(
        'A membership or invitation that `POST /v1/session/memberships` listed. Choosing an invitation accepts it.',
      ),
    nonce: z
      .string()
      .regex(NONCE, 'must be 32 bytes in base64url without padding')
      .optional()
      .describe(
        '32 random bytes from the browser, in base64url. If the response is lost, the same request within two minutes ' +
          'returns the same session.',
      ),
  })
  .refine(isOne, oneOf('passkey, oidc or membership'));

/** @throws {DomainError} as `proveByLink` and `proveByPasskey`. */
const prove = (
  route: RouteContext,
  { token = '', passkey }: z.infer<typeof proofBody>,
  request: FastifyRequest,
): Promise<ProvenMember> =>
  passkey === undefined ? proveByLink(route, token, request.ip) : proveByPasskey(route, passkey, request);

/** @throws {DomainError} as `prove`, `proveByOidc` and `proveByChoice`. */
const proveToSignIn = async (
  route: RouteContext,
  { oidc, membership, ...others }: z.infer<typeof signInBody>,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<ProvenMember> => {
  if (membership !== undefined) return proveByChoice(route, membership, request);
  return oidc === undefined ? prove(route, others, request) : proveByOidc(route, oidc, { request, reply });
};

/** Session value derived from the request id. It cannot be guessed without the key of this service. */
const sessionValue = ([{ bytes }]: TrackingKeys, asked: string): string =>
  formatSecret('session', keyedBytes(bytes, 'session value', asked));

export const signInRoute = publicEndpoint(
  'POST /v1/session',
  {
    summary: 'Sign in to the dashboard',
    description:
      'Signs a member in with the token of a link, the response of a passkey to a challenge, or the response of the identity ' +
      'provider, and sets a session cookie: `__Host-outbox_session` over HTTPS, `outbox_session` on loopback without TLS. ' +
      'Only pages of this service may send this request (`Sec-Fetch-Site: same-origin`, or an equal `Origin`). A session ends ' +
      'after 7 days, after 12 hours without a request, or earlier if the organization has set shorter limits.',
    body: signInBody,
    examples: { 'With a link': { token: 'ob_link_0000000000000000000000000000000000000000000000000' } },
    answer: sessionSchema,
  },
  async ({ body, request, reply }, route) => {
    const { auth, deps } = route;
    requireSameOrigin(request, auth.publicUrl);
    const secure = isSecure(request, auth.publicUrl);
    requireSecure(request.hostname, secure);
    await consumeSignInLimit(auth, 'sign-in', request.ip);
    const { organizationId, member, proof, counter } = await proveToSignIn(route, body, { request, reply });
    const { memberId } = member;
    const value =
      body.nonce === undefined ? undefined : sessionValue(deps.trackingKeys, `${usedOnce(proof)}\0${body.nonce}`);
    const origin = await keepOrigin(
      deps,
      { ...requestOrigin(request), actor: `member:${memberId}`, organizationId, environment: null },
      request,
    );
    const started = await startSession(deps.context, origin, { memberId, proof, counter, value });
    await auth.keyCache.catchUp();
    const holder = auth.keyCache.find(sha256Hex(started.value))?.holder;
    const caller = holder === undefined ? null : auth.keyCache.callerOf(holder, 'live');
    if (caller === null) throw new DomainError('unavailable', `session ${started.session.sessionId} is not known yet`);
    reply.header('set-cookie', cookieOf(SESSION_COOKIE, secure, started.value, SESSION_MS / 1000));
    return serializeSession(route, caller);
  },
);

export const getSessionRoute = endpoint(
  'GET /v1/session',
  {
    summary: 'Get the current session or key',
    description: 'Returns the key or member that sends the request, and its permissions. Any key can call it.',
    answer: sessionSchema,
  },
  ({ caller }, route) => serializeSession(route, caller),
);

export const signOutRoute = endpoint(
  'DELETE /v1/session',
  { summary: 'Sign out', description: 'Ends the session that sends the request. With an API key, nothing happens.' },
  async ({ caller: { member }, origin, request, reply }, { deps: { context }, auth }) => {
    if (member === undefined) return;
    await endSession(context, origin, member.sessionId);
    await auth.keyCache.catchUp();
    reply.header('set-cookie', cookieOf(SESSION_COOKIE, isSecure(request, auth.publicUrl), '', 0));
  },
);

export const provePresenceRoute = endpoint(
  'POST /v1/session/presence',
  {
    summary: 'Confirm your presence',
    description:
      'Confirms that it is really you, with a passkey or the token of a new link; the link cannot be used again. Actions that require recent ' +
      `authentication (\`presence_required\`) are then allowed in this session for ${PRESENCE_MINUTES} minutes, as after signing in.`,
    body: proofBody,
    examples: { 'With a link': { token: 'ob_link_0000000000000000000000000000000000000000000000000' } },
    answer: sessionSchema,
    etag: false,
  },
  async ({ caller, callerNow, origin, body, request }, route) => {
    const { auth, deps } = route;
    const { keyId: memberId, member: calling } = caller;
    if (calling === undefined) throw new Error('only members can call this route');
    await consumeSignInLimit(auth, 'sign-in', request.ip);
    const { member, proof, counter } = await prove(route, body, request);
    // Another member's proof is rejected and not used up.
    if (member.memberId !== memberId) throw proof.kind === 'link' ? linkInvalid() : passkeyInvalid();
    const kept = await keepOrigin(deps, { ...origin, environment: null }, request);
    await provePresence(deps.context, kept, { sessionId: calling.sessionId, memberId, proof, counter });
    return serializeSession(route, await callerNow('up to the log'));
  },
);

/** How members can sign in here, and links that the service mails. */

const mailedLinkSchema = z
  .strictObject({
    object: z.literal('mailed_sign_in_link'),
    expires_in_minutes: z.number().int(),
  })
  .meta({ id: 'MailedSignInLink' });

const signInMethodsSchema = z
  .strictObject({
    object: z.literal('sign_in_methods'),
    mailed_link: z
      .strictObject({
        is_captured: z
          .boolean()
          .describe('true: mail is captured on this machine, so the link is in the inbox of the service.'),
      })
      .nullable()
      .describe('Domain that mails the links. null: no domain of this service can send mail.'),
    oidc: z
      .strictObject({ host: z.string().describe('Host name of the issuer.') })
      .nullable()
      .describe('The identity provider. null: none is configured.'),
  })
  .meta({ id: 'SignInMethods' });
export type SignInMethods = z.infer<typeof signInMethodsSchema>;

export const mailSignInLinkRoute = publicEndpoint(
  'POST /v1/session/links',
  {
    summary: 'Mail a sign-in link',
    description:
      'Mails a sign-in link to the member with this address, if there is one. The response is the same for every ' +
      `address. The link works once, for ${LINK_MINUTES} minutes, and earlier links keep working. A member can have at most ` +
      `${MAILED_LINKS_MAX} valid mailed links, ${MAILED_LINKS_PER_NETWORK_MAX} of them requested from one network; above ` +
      'that, nothing is mailed. Only pages of this service may send this request.',
    body: z.strictObject({ email: bareAddress.describe('One email address without a name.') }),
    examples: { 'Mail a link to Ann': { email: 'ann@example.net' } },
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
  { summary: 'List sign-in methods', answer: signInMethodsSchema },
  async (_call, { auth: { keyCache }, deps: { inbox, identityProvider } }) => ({
    object: 'sign_in_methods',
    mailed_link: keyCache.canSend() ? { is_captured: inbox !== null } : null,
    oidc: identityProvider === null ? null : { host: identityProvider.host },
  }),
);
