import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { sha256Hex } from '../../../domain/digest.ts';
import { DomainError } from '../../../domain/domain-error.ts';
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
import { cookieOf, cookiesIn, isSecure, OIDC_COOKIE, requireSameOrigin } from '../../auth/presented.ts';
import { consumeSignInLimit } from '../../auth/rate-limits.ts';
import { publicEndpoint, type RouteContext } from '../../endpoint.ts';
import { type OidcAnswer, oidcTransactionSchema } from '../../schemas/sign-in.ts';

/** Signing in at an OpenID provider: the way there, and what is believed of the way back. */

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
    summary: 'Begin to sign in at the identity provider',
    description:
      'The answer says where the browser goes. The provider leads it back to `/dashboard/sign-in/oidc` with `code` and `state`, ' +
      `which \`POST /v1/session\` takes once, within ${TRANSACTION_SECONDS / 60} minutes, from the same browser: a cookie ` +
      'binds them. Pages of this service alone may ask.',
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

/** What this browser began. @throws {DomainError} `oidc_invalid`. */
const requireTransaction = ({ auth, deps }: RouteContext, request: FastifyRequest, state: string): OidcTransaction => {
  const [cookie = '', ...others] = cookiesIn(request, OIDC_COOKIE, isSecure(request, auth.publicUrl));
  const transaction = others.length > 0 ? null : readTransaction(deps.trackingKeys, cookie, auth.system.now());
  if (transaction === null || !isSameText(transaction.state, state)) throw oidcInvalid();
  return transaction;
};

/** @throws {DomainError} `oidc_no_member`. */
const requireMemberWith = async ({ memberAddresses }: RouteContext, address: string): Promise<MemberOfOrganization> => {
  const [found, ...others] = await memberAddresses.find(address);
  if (found === undefined) throw new DomainError('oidc_no_member', 'nobody with this address has been invited');
  if (others.length === 0) return found;
  throw new DomainError('oidc_no_member', 'members of several organizations have this address: sign in with a link');
};

interface ProvenByOidc extends MemberOfOrganization {
  readonly proof: Proof;
}

const prove = async (
  route: RouteContext,
  provider: IdentityProvider,
  { code, state, issuer }: OidcAnswer,
  request: FastifyRequest,
): Promise<ProvenByOidc> => {
  const { auth } = route;
  const transaction = requireTransaction(route, request, state);
  const redirectUri = redirectUriOf(auth.publicUrl, request.socket.localPort);
  const identity = await asked(provider.identify({ code, state, issuer }, transaction, redirectUri.href));
  if (identity === null) throw oidcInvalid();
  if (identity.address === null || !identity.isVerified)
    throw new DomainError('oidc_address_unverified', 'the identity provider has not verified your address');
  const found = await requireMemberWith(route, identity.address);
  return { ...found, proof: { kind: 'oidc', issuer: identity.issuer, transactionHash: sha256Hex(state) } };
};

/**
 * Takes what the provider told the browser; the transaction ends, whatever comes of it.
 * @throws {DomainError} `oidc_invalid`, `oidc_address_unverified`, `oidc_no_member`, `unavailable`.
 */
export const proveByOidc = async (
  route: RouteContext,
  answer: OidcAnswer,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<ProvenByOidc> => {
  const { auth, deps } = route;
  reply.header('set-cookie', cookieOf(OIDC_COOKIE, isSecure(request, auth.publicUrl), '', 0));
  if (deps.identityProvider === null) throw oidcInvalid();
  return prove(route, deps.identityProvider, answer, request);
};
