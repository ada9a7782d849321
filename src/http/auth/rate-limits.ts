import type { FastifyReply } from 'fastify';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import { clientNetworkOf } from '../../domain/kernel/addresses.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import {
  type ActionKind,
  effectiveLimits,
  type RateLimiter,
  type RateLimitResult,
  type RateLimits,
} from '../../domain/kernel/rate-limits.ts';
import type { System } from '../../lib/async/async.ts';
import type { KeyCache } from './key-cache.ts';

/** Rate limits of keys, and of the catch-ups of the key cache that unknown keys cause. */

interface RateLimitContext {
  readonly rateLimiter: RateLimiter;
  readonly keyCache: Pick<KeyCache, 'ceilingsOf'>;
}

/** A caller with the rate limits of its key. */
interface LimitedCaller {
  readonly caller: Pick<Caller, 'keyId' | 'organizationId'>;
  readonly rateLimits: RateLimits;
}

/** How many actions of a kind. */
export interface Cost {
  readonly kind: ActionKind;
  readonly count: number;
}

/** Length of the window that limits apply to. */
const WINDOW_SECONDS = 60;

/** Both generations: draft-ietf-httpapi-ratelimit-headers-11, and the three fields in use before it. */
const setRateLimitHeaders = (
  reply: FastifyReply,
  kind: ActionKind,
  { limit, remaining, resetSeconds }: RateLimitResult,
): void => {
  reply
    .header('ratelimit-policy', `"${kind}";q=${limit};w=${WINDOW_SECONDS}`)
    .header('ratelimit', `"${kind}";r=${remaining};t=${resetSeconds}`)
    .header('ratelimit-limit', limit)
    .header('ratelimit-remaining', remaining)
    .header('ratelimit-reset', resetSeconds);
};

/** Actions a minute: the key's own limit or the default, capped by the organization's ceiling. */
export const limitOf = (
  { keyCache }: RateLimitContext,
  { caller, rateLimits }: LimitedCaller,
  kind: ActionKind,
): number => effectiveLimits(rateLimits, keyCache.ceilingsOf(caller.organizationId))[kind];

/**
 * Counts actions against the key's limit, all or none, and sets the `RateLimit` headers.
 * @param reply null: a protocol without such headers.
 * @throws {DomainError} `rate_limit_exceeded`.
 */
export const consumeRateLimit = async (
  auth: RateLimitContext,
  authenticated: LimitedCaller,
  { kind, count }: Cost,
  reply: FastifyReply | null,
): Promise<void> => {
  const limit = limitOf(auth, authenticated, kind);
  const result = await auth.rateLimiter.take(`${authenticated.caller.keyId}:${kind}`, count, limit);
  const retryAfterSeconds = Math.max(1, result.retryAfterSeconds);
  // A refusal names one time to retry at, in whichever field a client reads it.
  const reported = result.allowed ? result : { ...result, resetSeconds: retryAfterSeconds };
  if (reply !== null) setRateLimitHeaders(reply, kind, reported);
  if (result.allowed) return;
  throw new DomainError('rate_limit_exceeded', `rate limit of ${limit} ${kind} requests a minute exceeded`, {
    retryAfterSeconds,
  });
};

/** Enough for mistyped tokens. Higher: more guesses, each of which may need a catch-up with the log. */
const SIGN_INS_MAX = 20;

/**
 * Counts what a client does without a key, by its network.
 * @param what counted apart from all else.
 * @throws {DomainError} `rate_limit_exceeded`.
 */
export const consumeSignInLimit = async (
  { rateLimiter }: Pick<RateLimitContext, 'rateLimiter'>,
  what: 'sign-in' | 'sign-in-link' | 'oidc' | 'memberships',
  address: string,
): Promise<void> => {
  const result = await rateLimiter.take(`${what}:${clientNetworkOf(address)}`, 1, SIGN_INS_MAX);
  if (result.allowed) return;
  const retryAfterSeconds = Math.max(1, result.retryAfterSeconds);
  throw new DomainError('rate_limit_exceeded', 'too many attempts to sign in', { retryAfterSeconds });
};

/**
 * Limits how often unknown keys from one address may cause a catch-up of the key cache. Over the limit no request is
 * refused: the unknown key waits for the next regular read of the log instead.
 */
export interface CatchUpLimit {
  /** Counts one catch-up. @returns whether it is within the limit. */
  take(address: string): boolean;
}

/** Higher: key guessing loads the log. Lower: more clients behind one address wait 250 ms for a new key. */
const CATCH_UPS_MAX = 20;
const WINDOW_MS = 60_000;
/** About 1 MB. A flood from more addresses evicts the oldest. */
const ADDRESSES_MAX = 10_000;

interface Window {
  readonly endsMs: number;
  count: number;
}

export const createCatchUpLimit = (system: Pick<System, 'monotonicMs'>): CatchUpLimit => {
  const windows = new Map<string, Window>();

  const windowOf = (network: string): Window => {
    const nowMs = system.monotonicMs();
    const known = windows.get(network);
    if (known !== undefined && known.endsMs > nowMs) return known;
    windows.delete(network);
    const oldest = windows.size >= ADDRESSES_MAX ? windows.keys().next().value : undefined;
    if (oldest !== undefined) windows.delete(oldest);
    const opened = { endsMs: nowMs + WINDOW_MS, count: 0 };
    windows.set(network, opened);
    return opened;
  };

  return {
    take: (address) => {
      const window = windowOf(clientNetworkOf(address));
      window.count += 1;
      return window.count <= CATCH_UPS_MAX;
    },
  };
};
