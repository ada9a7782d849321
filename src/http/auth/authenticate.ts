import type { FastifyReply, FastifyRequest } from 'fastify';
import { TimedOut } from '../../async/with-timeout.ts';
import { isWithin } from '../../domain/address-ranges.ts';
import { allows } from '../../domain/api-key/events.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import { readSecret } from '../../domain/api-key/secret.ts';
import { sha256Hex } from '../../domain/digest.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { System } from '../../domain/ports/system.ts';
import type { UsageMarks } from '../../domain/ports/usage-marks.ts';
import type { RateLimiter, RateLimits } from '../../domain/rate-limits.ts';

import type { GuardedRoute } from '../route-rules.ts';
import type { KeyCache } from './key-cache.ts';
import { type CatchUpLimit, consumeRateLimit } from './rate-limits.ts';
import type { PresentedSecret, PresentedToken } from './secret-index.ts';

/**
 * Authentication and authorisation of requests by API key (spec §5.7). A key is checked before the body is read,
 * against the key cache and so without a round trip; the request is authenticated again before its handler runs and
 * wherever it has waited, so that a revoked key stops working within 1 s.
 */

declare module 'fastify' {
  interface FastifyRequest {
    /** null until the request is authenticated. */
    caller: Caller | null;
    /** The caller with its rate limits; null until the request is authenticated. */
    authenticated: Authenticated | null;
    /** The rate limit is used up. The handler answers with it once it has read what the request would cost. */
    overLimit: DomainError | null;
    /** The request was answered 503 because it took too long: work still done for it must have no effect. */
    isLate: boolean;
  }
}

/** What authentication is made of; one for all listeners of the process. */
export interface AuthContext {
  readonly keyCache: KeyCache;
  readonly catchUpLimit: CatchUpLimit;
  readonly usageMarks: UsageMarks;
  readonly system: System;
  readonly rateLimiter: RateLimiter;
}

export interface Authenticated {
  readonly caller: Caller;
  readonly rateLimits: RateLimits;
  /** Time of the check, by the monotonic clock. */
  readonly atMs: number;
}

/**
 * Re-authenticate after 100 ms. Together with the cache's lag this bounds how long a revoked key works to 1 s. Shorter
 * repeats checks that were made just now.
 */
const REAUTHENTICATE_AFTER_MS = 100;
const BEARER = /^bearer +(\S+) *$/i;
/** Catching up with the log takes less, unless the log is unavailable. */
const RETRY_AFTER_SECONDS = 1;

/** Rule of paths without a route: they count as reads. */
export const NOWHERE = { kind: 'read' } as const;

/** The message is the specification's (§7); details say what is wrong with a header that holds no key. */
const unauthorized = (authorization: string | undefined): DomainError => {
  const message = 'invalid or missing API key';
  if (BEARER.test(authorization ?? '')) return new DomainError('unauthorized', message);
  const problem = authorization === undefined ? 'is required' : 'is malformed';
  return new DomainError('unauthorized', message, {
    details: { Authorization: [`Authorization ${problem}: send Authorization: Bearer <API key>`] },
  });
};

const unavailable = (): DomainError =>
  new DomainError('unavailable', 'API keys cannot be checked just now', { retryAfterSeconds: RETRY_AFTER_SECONDS });

type Presented = PresentedSecret | PresentedToken;

const isOver = (endsAt: string | null, nowMs: number): boolean => endsAt !== null && Date.parse(endsAt) <= nowMs;

const isExpired = (presented: Presented, nowMs: number): boolean =>
  'auditor' in presented
    ? isOver(presented.auditor.expiresAt, nowMs)
    : isOver(presented.endsAt, nowMs) || isOver(presented.key.expiresAt, nowMs);

const requireAddress = (presented: Presented, address: string): void => {
  const { allowedCidrs } = 'auditor' in presented ? presented.auditor : presented.key;
  if (allowedCidrs.length === 0 || isWithin(presented.ranges, address)) return;
  throw new DomainError(
    'address_not_allowed',
    `API key is not allowed from this address, ${address}: use it from a network in its allowed_cidrs`,
  );
};

/** The key in the header; null if the value cannot be a key. */
const presentedValue = (authorization: string | undefined): string | null => {
  const value = BEARER.exec(authorization ?? '')?.[1];
  return value === undefined || readSecret(value) === null ? null : value;
};

/**
 * Looks up a secret by its SHA-256. Timing attacks on the look-up reveal hashes only, and no value can be made for a
 * hash; the 256 random bits of the value itself are never compared.
 */
const lookUp = async (
  { keyCache, catchUpLimit }: Pick<AuthContext, 'keyCache' | 'catchUpLimit'>,
  hash: string,
  address: string,
): Promise<Presented | undefined> => {
  if (keyCache.isFresh()) {
    const found = keyCache.find(hash);
    if (found !== undefined) return found;
  }
  // A stale cache is refreshed for everybody. An unknown key refreshes it only within the limit of its address.
  const mayRead = !keyCache.isFresh() || catchUpLimit.take(address);
  if (!(await (mayRead ? keyCache.catchUp() : keyCache.nextRead()))) throw unavailable();
  return keyCache.find(hash);
};

/**
 * Authenticates the key of an `Authorization` header, or the token of an auditor.
 * @throws {DomainError} `unauthorized`, `address_not_allowed`, `unavailable`.
 */
export const authenticate = async (
  context: Omit<AuthContext, 'rateLimiter'>,
  authorization: string | undefined,
  address: string,
): Promise<Authenticated> => {
  const { keyCache, usageMarks, system } = context;
  const value = presentedValue(authorization);
  const presented = value === null ? undefined : await lookUp(context, sha256Hex(value), address);
  const now = system.now();
  if (presented === undefined || isExpired(presented, now.getTime())) throw unauthorized(authorization);
  requireAddress(presented, address);
  if ('auditor' in presented) {
    const caller = keyCache.auditorCallerOf(presented.auditor);
    return { caller, rateLimits: {}, atMs: system.monotonicMs() };
  }
  const { key, secretHash, number } = presented;
  usageMarks.mark({ keyId: key.keyId, secretHash, lastUsedAt: now, lastAddress: address });
  return { caller: keyCache.callerOf(key, number), rateLimits: key.rateLimits, atMs: system.monotonicMs() };
};

/** @throws {DomainError} `permission_missing`, `environment_not_allowed`. */
export const requirePermission = (
  caller: Caller,
  { permission, environments, auditors }: Pick<GuardedRoute, 'permission' | 'environments' | 'auditors'>,
): void => {
  if (caller.auditor !== undefined) {
    if (auditors === true) return;
    throw new DomainError('permission_missing', 'the token of an auditor reads the audit endpoints alone');
  }
  if (!allows(caller.permissions, permission)) {
    throw new DomainError('permission_missing', `API key lacks '${permission}' permission`);
  }
  if (!environments.includes(caller.environment)) {
    throw new DomainError('environment_not_allowed', 'a test key cannot do this: use a live key');
  }
};

/**
 * The domain whose data the caller may read; null: all domains. Keys with only `send` or `read` are confined to their
 * own.
 */
export const visibleDomainId = ({ permissions, domain }: Caller): string | null =>
  permissions.includes('manage') || permissions.includes('admin') ? null : domain.id;

const requireKnownHeaders = (request: FastifyRequest, idempotent: boolean): void => {
  if (request.headers['idempotency-key'] === undefined || idempotent) return;
  throw new DomainError('header_not_allowed', 'this endpoint does not take an Idempotency-Key', {
    details: { 'Idempotency-Key': ['Idempotency-Key is not taken here'] },
  });
};

/**
 * Authenticates a request, counts it against the key's rate limit and checks its permission; before the body is read.
 * @throws {DomainError} by the catalogue.
 */
export const authenticateRequest = async (
  auth: AuthContext,
  rule: GuardedRoute | typeof NOWHERE,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  const authenticated = await authenticate(auth, request.headers.authorization, request.ip);
  request.caller = authenticated.caller;
  request.authenticated = authenticated;
  await consumeRateLimit(auth, authenticated, { kind: rule.kind, count: 1 }, reply).catch((error: unknown) => {
    if (!('costInBody' in rule) || !(error instanceof DomainError)) throw error;
    request.overLimit = error;
  });
  if (!('permission' in rule)) return;
  requirePermission(authenticated.caller, rule);
  requireKnownHeaders(request, rule.idempotent === true);
  if (rule.secret === true) reply.header('cache-control', 'no-store');
};

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
  else if (auth.system.monotonicMs() - authenticated.atMs < REAUTHENTICATE_AFTER_MS) return authenticated.caller;
  const again = await authenticate(auth, request.headers.authorization, request.ip);
  request.caller = again.caller;
  request.authenticated = again;
  requirePermission(again.caller, rule);
  return again.caller;
};
