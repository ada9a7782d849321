import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { sha256Hex } from '../../../domain/kernel/digest.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { invitationExpiry } from '../../../domain/member/create-sign-in-link.ts';
import type { Proof } from '../../../domain/member/events.ts';
import { oidcInvalid } from '../../../domain/member/session.ts';
import {
  type IdentityProvider,
  IdentityProviderUnavailable,
  type OidcTransaction,
} from '../../../domain/ports/identity-provider.ts';
import type { MemberOfOrganization } from '../../auth/key-cache-queries.ts';
import {
  isSameText,
  makeTransaction,
  readTransaction,
  redirectUriOf,
  TRANSACTION_SECONDS,
} from '../../auth/oidc-transaction.ts';
import { BROWSER_BYTES } from '../../auth/passkeys.ts';
import { BROWSER_COOKIE, cookieOf, cookiesIn, isSecure, OIDC_COOKIE, requireSameOrigin } from '../../auth/presented.ts';
import { consumeSignInLimit } from '../../auth/rate-limits.ts';
import { CHOICE_SECONDS, MEMBERSHIPS_MAX, makeChoice, readChoice } from '../../auth/sign-in-choice.ts';
import { publicEndpoint, type RouteContext } from '../../endpoint.ts';
import {
  type MembershipChoice,
  type OidcAnswer,
  oidcAnswerSchema,
  oidcTransactionSchema,
  type SerializedSignInChoice,
  signInChoiceSchema,
} from '../../schemas/sign-in.ts';

/** Sign-in with an OpenID provider: the redirect to it, and the verification of its response. */

const RETRY_AFTER_SECONDS = 5;

/** @throws {DomainError} `unavailable`. */
const asked = <Result>(question: Promise<Result>): Promise<Result> =>
  question.catch((error: unknown) => {
    if (!(error instanceof IdentityProviderUnavailable)) throw error;
    throw new DomainError('unavailable', 'the identity provider does not answer just now', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  });

/** The cookie of the transaction is kept for the host that the provider leads back to. @throws {DomainError} `invalid_request` */
const requireHost = ({ hostname }: FastifyRequest, redirectUri: URL): void => {
  if (redirectUri.hostname !== 'localhost' || hostname === redirectUri.hostname) return;
  throw new DomainError(
    'invalid_request',
    `sign in at ${redirectUri.origin}/dashboard, where the provider leads back to`,
  );
};

export const startOidcRoute = publicEndpoint(
  'POST /v1/session/oidc',
  {
    summary: 'Start to sign in with the identity provider',
    description:
      'Returns the URL to open in the browser. The provider redirects back to `/dashboard/sign-in/oidc` with `code` and `state`, ' +
      `which \`POST /v1/session\` accepts once, within ${TRANSACTION_SECONDS / 60} minutes, from the same browser: a cookie ` +
      'binds them. Only pages of this service may send this request.',
    body: z.strictObject({}),
    examples: { 'At the provider': {} },
    answer: oidcTransactionSchema,
  },
  async ({ request, reply }, { auth, deps }) => {
    requireSameOrigin(request, auth.publicUrl);
    await consumeSignInLimit(auth, 'oidc', request.ip);
    if (deps.identityProvider === null) throw new DomainError('not_found', 'no identity provider is configured');
    const redirectUri = redirectUriOf(auth.publicUrl, request.socket.localPort);
    requireHost(request, redirectUri);
    const { cookie, transaction } = makeTransaction(deps.trackingKeys, auth.system);
    const url = await asked(deps.identityProvider.authorizationUrl(transaction, redirectUri.href));
    const secure = isSecure(request, auth.publicUrl);
    reply.header('set-cookie', cookieOf(OIDC_COOKIE, secure, cookie, TRANSACTION_SECONDS));
    return {
      object: 'oidc_transaction',
      url,
      expires_at: new Date(auth.system.now().getTime() + TRANSACTION_SECONDS * 1000).toISOString(),
    };
  },
);

/** The sign-in transaction that this browser started. @throws {DomainError} `oidc_invalid`. */
const requireTransaction = ({ auth, deps }: RouteContext, request: FastifyRequest, state: string): OidcTransaction => {
  const [cookie = '', ...others] = cookiesIn(request, OIDC_COOKIE, isSecure(request, auth.publicUrl));
  const transaction = others.length > 0 ? null : readTransaction(deps.trackingKeys, cookie, auth.system.now());
  if (transaction === null || !isSameText(transaction.state, state)) throw oidcInvalid();
  return transaction;
};

/** A person whom the provider has verified. */
interface VerifiedIdentity {
  readonly address: string;
  readonly issuer: string;
  readonly transactionHash: string;
}

const identify = async (
  route: RouteContext,
  provider: IdentityProvider,
  { code, state, issuer }: OidcAnswer,
  request: FastifyRequest,
): Promise<VerifiedIdentity> => {
  const transaction = requireTransaction(route, request, state);
  const redirectUri = redirectUriOf(route.auth.publicUrl, request.socket.localPort);
  const identity = await asked(provider.identify({ code, state, issuer }, transaction, redirectUri.href));
  if (identity === null) throw oidcInvalid();
  if (identity.address === null || !identity.isVerified)
    throw new DomainError('oidc_address_unverified', 'the identity provider has not verified your address');
  return { address: identity.address, issuer: identity.issuer, transactionHash: sha256Hex(state) };
};

/**
 * Accepts the answer of the provider that the browser brings; the transaction ends, whatever comes of it.
 * @throws {DomainError} `oidc_invalid`, `oidc_address_unverified`, `unavailable`.
 */
const requireIdentity = async (
  route: RouteContext,
  answer: OidcAnswer,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<VerifiedIdentity> => {
  const { auth, deps } = route;
  reply.header('set-cookie', cookieOf(OIDC_COOKIE, isSecure(request, auth.publicUrl), '', 0));
  if (deps.identityProvider === null) throw oidcInvalid();
  return identify(route, deps.identityProvider, answer, request);
};

interface ProvenByOidc extends MemberOfOrganization {
  readonly proof: Proof;
}

/**
 * Signs in to the only organization that the person has joined. Invitations give no power over the person: they are not
 * counted, and are accepted by choosing one.
 * @throws {DomainError} `oidc_invalid`, `oidc_address_unverified`, `oidc_no_member`, `unavailable`.
 */
export const proveByOidc = async (
  route: RouteContext,
  answer: OidcAnswer,
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<ProvenByOidc> => {
  const { address, issuer, transactionHash } = await requireIdentity(route, answer, exchange);
  const joined = (await route.memberAddresses.find(address)).filter(({ member }) => member.status === 'joined');
  const [found, ...others] = joined;
  if (found === undefined)
    throw new DomainError('oidc_no_member', 'you have joined no organization with this address: accept an invitation');
  if (others.length > 0)
    throw new DomainError('oidc_no_member', 'you have joined several organizations: begin again and choose one');
  return { ...found, proof: { kind: 'oidc', issuer, transactionHash } };
};

/** True for those who have joined, and for invitations that have not expired. */
const canChoose = ({ member }: MemberOfOrganization, now: Date): boolean =>
  member.status === 'joined' || invitationExpiry(member, now.toISOString()) !== null;

export const listMembershipsRoute = publicEndpoint(
  'POST /v1/session/memberships',
  {
    summary: 'List your memberships and invitations',
    description:
      'Accepts the response of the identity provider, and lists the organizations that the person with the ' +
      'verified address has joined or is invited to. To sign in to one, or to join it, send its `member_id` and the ' +
      `\`choice\` to \`POST /v1/session\` within ${CHOICE_SECONDS / 60} minutes, from the same browser. It shows nothing ` +
      'else of these organizations. Only pages of this service may send this request.',
    body: z.strictObject({
      oidc: oidcAnswerSchema.describe('Query parameters of the identity provider’s redirect.'),
    }),
    examples: { 'After the provider': { oidc: { code: 'SplxlOBeZQQYbYS6WxSbIA', state: 'af0ifjsldkj' } } },
    answer: signInChoiceSchema,
  },
  async ({ body: { oidc }, request, reply }, route): Promise<SerializedSignInChoice> => {
    const { auth, deps, memberAddresses } = route;
    requireSameOrigin(request, auth.publicUrl);
    await consumeSignInLimit(auth, 'memberships', request.ip);
    const { address, issuer, transactionHash } = await requireIdentity(route, oidc, { request, reply });
    const now = auth.system.now();
    const found = (await memberAddresses.find(address))
      .filter((one) => canChoose(one, now))
      .toSorted((one, other) => Number(one.member.status === 'invited') - Number(other.member.status === 'invited'))
      .slice(0, MEMBERSHIPS_MAX);
    if (found.length === 0) throw new DomainError('oidc_no_member', 'this address has not been invited');
    const browser = Buffer.from(auth.system.randomBytes(BROWSER_BYTES)).toString('base64url');
    const secure = isSecure(request, auth.publicUrl);
    reply.header('set-cookie', cookieOf(BROWSER_COOKIE, secure, browser, CHOICE_SECONDS));
    const memberIds = found.map(({ member }) => member.memberId);
    return {
      object: 'sign_in_choice',
      choice: makeChoice(deps.trackingKeys, browser, { memberIds, issuer, transactionHash }, now),
      memberships: found.map(({ organizationId, member }) => ({
        member_id: member.memberId,
        organization: { id: organizationId, name: auth.keyCache.organizationNameOf(organizationId) },
        role: member.role,
        status: member.status,
      })),
      expires_at: new Date(now.getTime() + CHOICE_SECONDS * 1000).toISOString(),
    };
  },
);

/**
 * Signs in to a membership that the person chose, and accepts the invitation to it.
 * @throws {DomainError} `oidc_invalid`, `oidc_no_member` the member was removed or the invitation has expired.
 */
export const proveByChoice = (
  { auth, deps }: RouteContext,
  { choice: text, member_id: memberId }: MembershipChoice,
  request: FastifyRequest,
): ProvenByOidc => {
  const [browser = '', ...others] = cookiesIn(request, BROWSER_COOKIE, isSecure(request, auth.publicUrl));
  const now = auth.system.now();
  const choice = others.length > 0 ? null : readChoice(deps.trackingKeys, browser, text, now);
  if (choice?.memberIds.includes(memberId) !== true) throw oidcInvalid();
  const found = auth.keyCache.memberOf(memberId);
  if (found === undefined || !canChoose(found, now))
    throw new DomainError('oidc_no_member', 'this membership has ended, or its invitation has expired');
  const { issuer, transactionHash } = choice;
  return { ...found, proof: { kind: 'oidc', issuer, transactionHash } };
};
