import type { FastifyRequest } from 'fastify';
import { type Environment, environmentSchema } from '../../domain/kernel/environment.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { Carrier } from './secret-index.ts';

/** Credentials in a request: a key or a token in `Authorization`, or the session of a member in a cookie. */

export interface PresentedCredential {
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
export const presentedToken = (value: string | readonly string[] | undefined): PresentedCredential =>
  presentedBearer(typeof value === 'string' ? `Bearer ${value}` : undefined);

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

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export const isSafe = (method: string): boolean => SAFE_METHODS.has(method);

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
  throw new DomainError('cross_site_request', 'with a session, changes are asked for by pages of this service alone');
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
export const presentedIn = (request: CredentialRequest, publicUrl: string): PresentedCredential => {
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
