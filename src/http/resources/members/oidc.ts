import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { withHostName } from '../../../domain/kernel/addresses.ts';
import { keyedBytes, sha256Hex } from '../../../domain/kernel/digest.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { type Proof, roleSchema } from '../../../domain/member/events.ts';
import {
  type IdentityProvider,
  IdentityProviderUnavailable,
  invitationExpiry,
  type OidcTransaction,
  oidcInvalid,
} from '../../../domain/member/session.ts';
import type { TrackingKeys } from '../../../domain/tracking/tracking.ts';
import type { System } from '../../../lib/async/async.ts';
import {
  BROWSER_COOKIE,
  cookieOf,
  cookiesIn,
  isSecure,
  OIDC_COOKIE,
  requireSameOrigin,
} from '../../auth/authenticate.ts';
import type { MemberOfOrganization } from '../../auth/key-cache-queries.ts';
import { consumeSignInLimit } from '../../auth/limits.ts';
import { publicEndpoint, type RouteContext } from '../../endpoint.ts';
import { timeSchema } from '../../fields.ts';
import { BROWSER_BYTES } from './passkeys.ts';

/** Signing in at an identity provider, and choosing among several memberships. */

const oidcTransactionSchema = z
  .strictObject({
    object: z.literal('oidc_transaction'),
    url: z.string().describe('URL of the identity provider to open in the browser.'),
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
  issuer: z.string().max(SHORT_CHARACTERS_MAX).optional().describe('Parameter `iss`, if the provider sends it.'),
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

const signInChoiceSchema = z
  .strictObject({
    object: z.literal('sign_in_choice'),
    choice: z.string().describe('Send it with a `member_id` as `membership` to `POST /v1/session`. It works once.'),
    memberships: z.array(membershipSchema).describe('Joined organizations first, then invitations.'),
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

/**
 * A sign-in at the identity provider, from the button to the way back. A cookie of the browser holds when it ends, random
 * bytes, and a MAC over both; state, nonce and code verifier follow from it and from a key of the service. Nothing is stored,
 * so that no number of requests fills anything, and no other browser can end what this one began.
 */

/** Time to sign in with a second factor. Longer: a stolen response stays usable for longer. */
const TRANSACTION_SECONDS = 600;

const EXPIRY_BYTES = 6;
const RANDOM_BYTES = 32;
const MAC_AT = EXPIRY_BYTES + RANDOM_BYTES;
const COOKIE = /^[\w-]{94}$/;

type Key = TrackingKeys[number];

const derive = ({ bytes }: Key, purpose: string, head: Buffer): Buffer =>
  keyedBytes(bytes, `oidc ${purpose}`, head.toString('base64url'));

const transactionOf = (key: Key, head: Buffer): OidcTransaction => ({
  state: derive(key, 'state', head).toString('base64url'),
  nonce: derive(key, 'nonce', head).toString('base64url'),
  codeVerifier: derive(key, 'code verifier', head).toString('base64url'),
});

/** @returns the value of the cookie, and what follows from it. */
const makeTransaction = (
  [key]: TrackingKeys,
  system: Pick<System, 'now' | 'randomBytes'>,
): { readonly cookie: string; readonly transaction: OidcTransaction } => {
  const head = Buffer.alloc(MAC_AT);
  head.writeUIntBE(system.now().getTime() + TRANSACTION_SECONDS * 1000, 0, EXPIRY_BYTES);
  head.set(system.randomBytes(RANDOM_BYTES), EXPIRY_BYTES);
  const cookie = Buffer.concat([head, derive(key, 'transaction', head)]).toString('base64url');
  return { cookie, transaction: transactionOf(key, head) };
};

/** @returns null: this service did not make the cookie, or it has ended. */
const readTransaction = (keys: TrackingKeys, cookie: string, now: Date): OidcTransaction | null => {
  if (!COOKIE.test(cookie)) return null;
  const bytes = Buffer.from(cookie, 'base64url');
  const [head, mac] = [bytes.subarray(0, MAC_AT), bytes.subarray(MAC_AT)];
  const key = keys.find((one) => timingSafeEqual(mac, derive(one, 'transaction', head)));
  return key === undefined || head.readUIntBE(0, EXPIRY_BYTES) <= now.getTime() ? null : transactionOf(key, head);
};

/** Whether two texts are the same, in a time that tells nothing of where they differ. */
const isSameText = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/**
 * Redirect URI: a screen of the dashboard, which posts the provider's response.
 * @param port port of the request. It replaces port 0 in the public URL, with which the system chose a port.
 */
const redirectUriOf = (publicUrl: string, port: number | undefined): URL => {
  const url = withHostName(new URL(`${publicUrl}/dashboard/sign-in/oidc`));
  if (url.port === '0' && port !== undefined) url.port = String(port);
  return url;
};

/**
 * An address that the identity provider has verified, until its owner chooses a membership. The text names the memberships
 * and when it ends, with a MAC over both and over a value in a cookie of the browser. Nothing is stored, so no number of
 * requests fills anything. It starts one session: the session's id follows from the transaction with the provider.
 */

/** Longer: a choice on a screen that was left open can be used for longer. Shorter: people who read first begin again. */
const CHOICE_SECONDS = 600;

/** Memberships to choose from. Higher: longer answers and texts. Lower: a person with many organizations misses some. */
const MEMBERSHIPS_MAX = 50;

const choiceSchema = z.strictObject({
  endsMs: z.number(),
  memberIds: z.array(z.string()),
  issuer: z.string(),
  transactionHash: z.string(),
});

type SignInChoice = Readonly<Omit<z.infer<typeof choiceSchema>, 'endsMs'>>;

const macOf = ({ bytes }: Pick<TrackingKeys[number], 'bytes'>, browser: string, payload: string): Buffer =>
  keyedBytes(bytes, 'sign-in choice', `${browser}\0${payload}`);

/** @param browser value of its cookie. */
const makeChoice = ([key]: TrackingKeys, browser: string, choice: SignInChoice, now: Date): string => {
  const { memberIds, issuer, transactionHash } = choice;
  const sealed = { endsMs: now.getTime() + CHOICE_SECONDS * 1000, memberIds, issuer, transactionHash };
  const payload = Buffer.from(JSON.stringify(sealed)).toString('base64url');
  return `${payload}.${macOf(key, browser, payload).toString('base64url')}`;
};

/** @returns null: this service did not make it for this browser, or it has ended. */
const readChoice = (keys: TrackingKeys, browser: string, text: string, now: Date): SignInChoice | null => {
  const [payload = '', mac = '', ...more] = text.split('.');
  const given = Buffer.from(mac, 'base64url');
  const isOwn = keys.some((key) => {
    const own = macOf(key, browser, payload);
    return own.length === given.length && timingSafeEqual(own, given);
  });
  if (!isOwn || more.length > 0) return null;
  const { endsMs, ...choice } = choiceSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  return endsMs > now.getTime() ? choice : null;
};

/** Sign-in with an OpenID provider: the redirect to it, and the verification of its response. */

const RETRY_AFTER_SECONDS = 5;

/** @throws {DomainError} `unavailable`. */
const asked = <Result>(question: Promise<Result>): Promise<Result> =>
  question.catch((error: unknown) => {
    if (!(error instanceof IdentityProviderUnavailable)) throw error;
    throw new DomainError(
      'unavailable',
      'the identity provider does not answer: try again, or sign in with a link or a passkey',
      {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      },
    );
  });

/** The cookie of the transaction is kept for the host that the provider leads back to. @throws {DomainError} `invalid_request` */
const requireHost = ({ hostname }: FastifyRequest, redirectUri: URL): void => {
  if (redirectUri.hostname !== 'localhost' || hostname === redirectUri.hostname) return;
  throw new DomainError(
    'invalid_request',
    `sign in at ${redirectUri.origin}/dashboard, because the identity provider redirects there`,
  );
};

export const startOidcRoute = publicEndpoint(
  'POST /v1/session/oidc',
  {
    summary: 'Start signing in with the identity provider',
    description:
      'Returns the URL to open in the browser. The provider redirects back to `/dashboard/sign-in/oidc` with `code` and `state`, ' +
      `which \`POST /v1/session\` accepts once, within ${TRANSACTION_SECONDS / 60} minutes, from the same browser: a cookie ` +
      'binds them. Only pages of this service may send this request.',
    body: z.strictObject({}),
    examples: { 'Sign in at the provider': {} },
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
    throw new DomainError(
      'oidc_address_unverified',
      'the identity provider has not verified your email address: verify it there first',
    );
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
    throw new DomainError(
      'oidc_no_member',
      'no organization has a member with this address: accept an invitation first',
    );
  if (others.length > 0)
    throw new DomainError('oidc_no_member', 'you are a member of several organizations: start again and choose one');
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
      'Checks the response of the identity provider, and lists the organizations that the person with the ' +
      'verified address has joined or is invited to. To sign in to one, or to join it, send its `member_id` and the ' +
      `\`choice\` to \`POST /v1/session\` within ${CHOICE_SECONDS / 60} minutes, from the same browser. It shows nothing ` +
      'else of these organizations. Only pages of this service may send this request.',
    body: z.strictObject({
      oidc: oidcAnswerSchema.describe('Query parameters of the identity provider’s redirect.'),
    }),
    examples: { 'After the redirect': { oidc: { code: 'SplxlOBeZQQYbYS6WxSbIA', state: 'af0ifjsldkj' } } },
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
    if (found.length === 0)
      throw new DomainError(
        'oidc_no_member',
        'no organization has invited this address: ask an owner for an invitation',
      );
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
