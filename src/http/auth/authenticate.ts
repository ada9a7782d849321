import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/api-key/caller.ts';
import { readSecret, type UsageMarks } from '../../domain/api-key/secret.ts';
import { isWithin } from '../../domain/kernel/addresses.ts';
import { sha256Hex } from '../../domain/kernel/digest.ts';
import { type Environment, environmentSchema } from '../../domain/kernel/environment.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { RateLimiter, RateLimits } from '../../domain/kernel/rate-limits.ts';
import { endOfSession, idleMsOf } from '../../domain/member/session.ts';
import { type System, TimedOut } from '../../lib/async/async.ts';
import type { GuardedRoute } from '../route-rules.ts';
import type { KeyCache, SessionActivity } from './key-cache.ts';
import type { Carrier, Credential } from './key-cache-queries.ts';
import { type CatchUpLimit, consumeRateLimit } from './limits.ts';
import { isSafe, requireOpenFilters, requirePermission } from './permissions.ts';

/**
 * Authentication and authorisation of requests by API key (spec §5.7), by the token of an auditor or by the session of a
 * member; below all of them are keys. A key is checked before the body is read, against the key cache and so without a
 * round trip; the request is authenticated again before its handler runs and
 * wherever it has waited, so that a revoked key stops working within 1 s.
 */

/** Credentials in a request: a key or a token in `Authorization`, or the session of a member in a cookie. */

interface PresentedCredential {
  readonly carrier: Carrier;
  /** null: absent or malformed. */
  readonly value: string | null;
  /** Problem with the header; null: none. */
  readonly problem: 'is required' | 'is malformed' | null;
  /** Environment that a member requests. Keys have a fixed one. */
  readonly environment: Environment;
  /** The page sent the request automatically, without an action of the user. */
  readonly isUnattended: boolean;
  /** Why the request is refused once it is known who asks; null: it is not. */
  readonly refusal: DomainError | null;
}

const BEARER = /^bearer +(\S+) *$/i;

/** @param authorization the header field; undefined: absent. */
export const presentedBearer = (authorization: string | undefined): PresentedCredential => {
  const value = BEARER.exec(authorization ?? '')?.[1] ?? null;
  const problem = value !== null ? null : authorization === undefined ? 'is required' : 'is malformed';
  return { carrier: 'bearer', value, problem, environment: 'live', isUnattended: false, refusal: null };
};

/** A key in a header of its own. @param value undefined: absent. */
const presentedToken = (value: string | readonly string[] | undefined): PresentedCredential =>
  presentedBearer(typeof value === 'string' ? `Bearer ${value}` : undefined);

const BASIC = /^basic +([a-z0-9+/]+={0,2}) *$/i;
/** The only user of Basic authentication. */
const BASIC_USER = 'api:';

/** A key as the password of Basic authentication (RFC 7617). @param authorization the header field; undefined: absent. */
const presentedBasic = (authorization: string | undefined): PresentedCredential => {
  if (authorization === undefined) return presentedBearer(undefined);
  const pair = Buffer.from(BASIC.exec(authorization)?.[1] ?? '', 'base64').toString();
  return presentedBearer(pair.startsWith(BASIC_USER) ? `Bearer ${pair.slice(BASIC_USER.length)}` : '');
};

/** The credential in the place that a route names. */
const presentedTo = (
  rule: Pick<GuardedRoute, 'kind' | 'tokenHeader' | 'basic'>,
  request: CredentialRequest,
  publicUrl: string,
): PresentedCredential => {
  if (rule.tokenHeader !== undefined) return presentedToken(request.headers[rule.tokenHeader]);
  return rule.basic === true ? presentedBasic(request.headers.authorization) : presentedIn(request, publicUrl);
};

type CredentialRequest = Pick<FastifyRequest, 'protocol' | 'host' | 'hostname' | 'headers' | 'method' | 'query'>;

/**
 * Whether browsers reach this service by TLS, at this process or at a proxy before it. Without it there are sessions on
 * loopback only, and their cookie has neither `Secure` nor the prefix that requires it, because Safari rejects both there.
 */
export const isSecure = ({ protocol }: Pick<CredentialRequest, 'protocol'>, publicUrl: string): boolean =>
  protocol === 'https' || publicUrl.startsWith('https:');

/** The session of a member. */
export const SESSION_COOKIE = 'outbox_session';
/** A random value that challenges for passkeys are bound to. */
export const BROWSER_COOKIE = 'outbox_browser';
/** A sign-in at the identity provider, until the browser is back. */
export const OIDC_COOKIE = 'outbox_oidc';
type CookieName = typeof SESSION_COOKIE | typeof BROWSER_COOKIE | typeof OIDC_COOKIE;

/** The browser comes back from another site: what it brings is posted by a page, but some browsers count that as theirs. */
const sameSiteOf = (cookie: CookieName): string => (cookie === OIDC_COOKIE ? 'Lax' : 'Strict');

/** RFC 6265bis §4.1.3.2: no other host and no subdomain can set it. */
const nameOf = (cookie: CookieName, secure: boolean): string => (secure ? `__Host-${cookie}` : cookie);

/** @param value empty: the cookie is removed. @param seconds until the browser forgets it. */
export const cookieOf = (cookie: CookieName, secure: boolean, value: string, seconds: number): string =>
  `${nameOf(cookie, secure)}=${value}; HttpOnly; ${secure ? 'Secure; ' : ''}SameSite=${sameSiteOf(cookie)}; Path=/; Max-Age=${seconds}`;

/** Values of a cookie. More than one means that another site or page has set one too. */
export const cookiesIn = (
  { headers: { cookie: sent = '' } }: Pick<CredentialRequest, 'headers'>,
  cookie: CookieName,
  secure: boolean,
): readonly string[] => {
  const prefix = `${nameOf(cookie, secure)}=`;
  return sent
    .split(';')
    .map((pair) => pair.trim())
    .flatMap((pair) => (pair.startsWith(prefix) ? [pair.slice(prefix.length)] : []));
};

const ownOrigins = ({ protocol, host }: CredentialRequest, publicUrl: string): readonly (string | undefined)[] => [
  `${protocol}://${host}`,
  new URL(publicUrl).origin,
];

/**
 * Browsers send the cause of each request (Fetch Metadata, `Sec-Fetch-Site`), and older ones send at least the origin.
 * A request with neither header does not come from a page of this service.
 * @throws {DomainError} `cross_site_request`.
 */
export const requireSameOrigin = (request: CredentialRequest, publicUrl: string): void => {
  const { 'sec-fetch-site': site, origin } = request.headers;
  const isOwn = site === undefined ? ownOrigins(request, publicUrl).includes(origin) : site === 'same-origin';
  if (isOwn && origin !== 'null') return;
  throw new DomainError(
    'cross_site_request',
    'with a session, only pages of this service can make changes: use the dashboard, or send an API key',
  );
};

/** Removes the environment from the query, because route schemas do not declare it. Default: `live`. @returns null if invalid. */
const takeEnvironment = ({ query }: CredentialRequest): Environment | null => {
  const asked = query as { environment?: unknown };
  if (asked.environment === undefined) return 'live';
  const read = environmentSchema.safeParse(asked.environment);
  delete asked.environment;
  return read.success ? read.data : null;
};

const refusalOf = (authorization: string | undefined, environment: Environment | null): DomainError | null => {
  if (authorization !== undefined)
    return new DomainError('invalid_request', 'send an API key or the cookie of a session, not both');
  if (environment !== null) return null;
  return new DomainError('invalid_request', 'the request is invalid: see details', {
    details: { environment: ['environment must be live or test'] },
  });
};

/** @throws {DomainError} `cross_site_request`. */
const presentedIn = (request: CredentialRequest, publicUrl: string): PresentedCredential => {
  const { authorization, cookie } = request.headers;
  if (cookie === undefined) return presentedBearer(authorization);
  const [value, ...others] = cookiesIn(request, SESSION_COOKIE, isSecure(request, publicUrl));
  if (value === undefined) return presentedBearer(authorization);
  if (!isSafe(request.method)) requireSameOrigin(request, publicUrl);
  const environment = takeEnvironment(request);
  return {
    carrier: 'cookie',
    value: others.length > 0 ? null : value,
    problem: null,
    environment: environment ?? 'live',
    isUnattended: request.headers['x-unattended'] === '1',
    refusal: refusalOf(authorization, environment),
  };
};

declare module 'fastify' {
  interface FastifyRequest {
    /** null until the request is authenticated. */
    caller: Caller | null;
    /** The caller with its rate limits; null until the request is authenticated. */
    authenticated: AuthResult | null;
    /** The rate limit is used up. The handler answers with it once it has read what the request would cost. */
    overLimit: DomainError | null;
    /** The request was answered 503 because it took too long: work still done for it must have no effect. */
    isLate: boolean;
  }
}

/** Dependencies of authentication, shared by all listeners of the process. */
export interface AuthContext {
  readonly keyCache: KeyCache;
  readonly catchUpLimit: CatchUpLimit;
  readonly usageMarks: UsageMarks;
  readonly sessionActivity: SessionActivity;
  /** Origin of this service for browsers. If it is https, every session requires https. */
  readonly publicUrl: string;
  readonly system: System;
  readonly rateLimiter: RateLimiter;
  /** Names of the owners of an organization who have signed in; empty: they cannot be read. */
  ownersOf(organizationId: string): Promise<readonly string[]>;
}

export interface AuthResult {
  readonly caller: Caller;
  readonly rateLimits: RateLimits;
  readonly presented: PresentedCredential;
  /** Time of the check, by the monotonic clock. */
  readonly atMs: number;
  /** `changes` of the key cache at the time of the check. */
  readonly changes: number;
  /** When the key, token or session expires, by the wall clock; null: never. */
  readonly endsAtMs: number | null;
}

/**
 * Re-authenticate after 100 ms. Together with the cache's lag this bounds how long a revoked key works to 1 s. Shorter
 * repeats checks that were made just now.
 */
const REAUTHENTICATE_AFTER_MS = 100;
/** Catching up with the log takes less, unless the log is unavailable. */
const RETRY_AFTER_SECONDS = 1;

/** Rule for paths without a route: they use the limit for reads. */
export const UNKNOWN_ROUTE = { kind: 'read' } as const;

/** The message is fixed by the specification (§7). Details explain a malformed header. */
const unauthorized = ({ carrier, problem }: PresentedCredential): DomainError => {
  if (carrier === 'cookie') return new DomainError('unauthorized', 'the session has ended: sign in again');
  const message = 'invalid or missing API key';
  if (problem === null) return new DomainError('unauthorized', message);
  return new DomainError('unauthorized', message, {
    details: { Authorization: [`Authorization ${problem}: send Authorization: Bearer <API key>`] },
  });
};

const unavailable = (): DomainError =>
  new DomainError('unavailable', 'API keys cannot be checked at the moment: try again', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const requireAddress = ({ ranges }: Credential, address: string): void => {
  if (ranges.length === 0 || isWithin(ranges, address)) return;
  throw new DomainError(
    'address_not_allowed',
    `API key is not allowed from this address, ${address}: use it from a network in its allowed_cidrs`,
  );
};

/**
 * Looks up a secret by its SHA-256. Timing attacks on the look-up reveal hashes only, and no value can be made for a
 * hash; the 256 random bits of the value itself are never compared.
 * @param find what the key cache has of the hash.
 * @throws {DomainError} `unavailable`.
 */
export const lookUp = async <Found>(
  { keyCache, catchUpLimit }: Pick<AuthContext, 'keyCache' | 'catchUpLimit'>,
  address: string,
  find: () => Found | undefined,
): Promise<Found | undefined> => {
  if (keyCache.isFresh()) {
    const found = find();
    if (found !== undefined) return found;
  }
  // A stale cache is refreshed for every request. An unknown key refreshes it only within the limit of its address.
  const mayRead = !keyCache.isFresh() || catchUpLimit.take(address);
  if (!(await (mayRead ? keyCache.catchUp() : keyCache.nextRead()))) throw unavailable();
  return find();
};

/** The credential, if it works at this moment. */
const findWorking = async (
  context: Omit<AuthContext, 'rateLimiter' | 'publicUrl' | 'ownersOf'>,
  { carrier, value }: PresentedCredential,
  address: string,
): Promise<Credential | null> => {
  if (value === null || readSecret(value) === null) return null;
  const { keyCache, sessionActivity, system } = context;
  const hash = sha256Hex(value);
  const found = await lookUp(context, address, () => keyCache.find(hash));
  const nowMs = system.now().getTime();
  if (found?.carrier !== carrier || (found.endsAt !== null && Date.parse(found.endsAt) <= nowMs)) return null;
  if (found.holder.kind !== 'session') return found;
  const { session } = found.holder;
  const limits = keyCache.settingsOf(session.organizationId);
  if (endOfSession(session, limits).getTime() <= nowMs) return null;
  return (await sessionActivity.isIdle(session, idleMsOf(limits))) ? null : found;
};

/** Records the use of a credential. Automatic requests of a page do not keep a session alive. */
const noteUse = (
  { usageMarks, sessionActivity, system }: Pick<AuthContext, 'usageMarks' | 'sessionActivity' | 'system'>,
  { holder, secretHash }: Credential,
  { address, isUnattended }: Pick<PresentedCredential, 'isUnattended'> & { readonly address: string },
): void => {
  if (holder.kind === 'auditor' || (holder.kind === 'session' && isUnattended)) return;
  if (holder.kind === 'session') sessionActivity.note(holder.session);
  const keyId = holder.kind === 'key' ? holder.key.keyId : holder.session.sessionId;
  usageMarks.mark({ keyId, secretHash, lastUsedAt: system.now(), lastAddress: address });
};

const endMsOf = (keyCache: Pick<KeyCache, 'settingsOf'>, { holder, endsAt }: Credential): number | null => {
  if (holder.kind !== 'session') return endsAt === null ? null : Date.parse(endsAt);
  return endOfSession(holder.session, keyCache.settingsOf(holder.session.organizationId)).getTime();
};

/**
 * Authenticates what a request presents: the key or the token in its `Authorization` header, or the session in its cookie.
 * @param onKnown takes whose it is, also if it may not be used from this address.
 * @throws {DomainError} `unauthorized`, `address_not_allowed`, `unavailable`.
 */
export const authenticate = async (
  context: Omit<AuthContext, 'rateLimiter' | 'publicUrl' | 'ownersOf'>,
  presented: PresentedCredential,
  address: string,
  onKnown: (caller: Caller) => void = () => undefined,
): Promise<AuthResult> => {
  const { keyCache, system } = context;
  const credential = await findWorking(context, presented, address);
  const caller = credential === null ? null : keyCache.callerOf(credential.holder, presented.environment);
  if (credential === null || caller === null) throw unauthorized(presented);
  onKnown(caller);
  requireAddress(credential, address);
  const { holder } = credential;
  const atMs = system.monotonicMs();
  noteUse(context, credential, { ...presented, address });
  const rateLimits = holder.kind === 'key' ? holder.key.rateLimits : {};
  return { caller, rateLimits, presented, atMs, changes: keyCache.changes(), endsAtMs: endMsOf(keyCache, credential) };
};

/** @throws {DomainError} `header_not_allowed`. */
export const requireKnownHeaders = (request: FastifyRequest, idempotent: boolean): void => {
  if (request.headers['idempotency-key'] === undefined || idempotent) return;
  throw new DomainError('header_not_allowed', 'this endpoint does not accept an Idempotency-Key: remove the header', {
    details: { 'Idempotency-Key': ['Idempotency-Key is not accepted here'] },
  });
};

/** Names the owners to a member who may not do it. @throws {DomainError} `permission_missing`, `environment_not_allowed`. */
const requireAllowed = async (
  { ownersOf }: Pick<AuthContext, 'ownersOf'>,
  rule: GuardedRoute,
  caller: Caller,
  { method }: Pick<FastifyRequest, 'method'>,
): Promise<void> => {
  try {
    requirePermission(caller, rule, method);
  } catch (error) {
    if (caller.member === undefined) throw error;
    requirePermission(caller, rule, method, await ownersOf(caller.organizationId));
  }
};

/**
 * Authenticates a request, counts it against the key's rate limit and checks its permission; before the body is read.
 * @throws {DomainError} by the catalogue.
 */
export const authenticateRequest = async (
  auth: AuthContext,
  rule: GuardedRoute | typeof UNKNOWN_ROUTE,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  const read = presentedTo(rule, request, auth.publicUrl);
  const presented = 'unattended' in rule && rule.unattended === true ? { ...read, isUnattended: true } : read;
  const authenticated = await authenticate(auth, presented, request.ip, (caller) => {
    request.refusedCaller = caller;
  });
  request.caller = authenticated.caller;
  request.authenticated = authenticated;
  await consumeRateLimit(auth, authenticated, { kind: rule.kind, count: 1 }, reply).catch((error: unknown) => {
    if (!('costInBody' in rule) || !(error instanceof DomainError)) throw error;
    request.overLimit = error;
  });
  if (authenticated.presented.refusal !== null) throw authenticated.presented.refusal;
  if (!('permission' in rule)) return;
  await requireAllowed(auth, rule, authenticated.caller, request);
  requireOpenFilters(authenticated.caller, rule, request.query as object); // parsed: an object of strings and arrays
  requireKnownHeaders(request, rule.idempotent === true);
  if (rule.secret === true) reply.header('cache-control', 'no-store');
};

/** Nothing can have changed since the check. */
const isRecent = ({ keyCache, system }: AuthContext, { atMs, changes }: AuthResult): boolean =>
  system.monotonicMs() - atMs < REAUTHENTICATE_AFTER_MS && changes === keyCache.changes();

/**
 * Authenticates a request again: a key may have been revoked while the request waited for its body or for events.
 * @param upToLog after a catch-up with the log, for answers that show what is in the log now.
 * @throws {DomainError} by the catalogue.
 */
export const reauthenticate = async (
  auth: AuthContext,
  rule: GuardedRoute,
  request: FastifyRequest,
  upToLog = false,
): Promise<Caller> => {
  const { authenticated } = request;
  if (authenticated === null) throw new Error('a handler ran without authentication');
  if (request.isLate) throw new TimedOut('the request was answered before it was done');
  if (upToLog) await auth.keyCache.catchUp();
  else if (isRecent(auth, authenticated)) return authenticated.caller;
  // The request was counted when it arrived, and re-authenticating is not an action of the user.
  const again = await authenticate(auth, { ...authenticated.presented, isUnattended: true }, request.ip);
  request.caller = again.caller;
  request.authenticated = again;
  await requireAllowed(auth, rule, again.caller, request);
  // Contents may have been withdrawn from the role: a filter by them would still tell.
  requireOpenFilters(again.caller, rule, request.query as object);
  return again.caller;
};
