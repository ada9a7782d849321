import { finished } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../../domain/api-key/caller.ts';
import { clientNetworkOf } from '../../domain/kernel/addresses.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import {
  type ActionKind,
  effectiveLimits,
  type RateLimiter,
  type RateLimitResult,
  type RateLimits,
} from '../../domain/kernel/rate-limits.ts';
import { createSemaphore, createShares, type System } from '../../lib/async/async.ts';
import type { KeyCache } from './key-cache.ts';

/**
 * Limits for those whose credential is known: requests a minute, requests that are open at once, large answers and exports
 * in memory. Each organization has a share, so that it uses up its own and no other's.
 */

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
interface Cost {
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
  throw new DomainError('rate_limit_exceeded', `rate limit of ${limit} ${kind} requests per minute exceeded`, {
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
  throw new DomainError('rate_limit_exceeded', 'too many attempts to sign in: try again later', { retryAfterSeconds });
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

/**
 * Bounds the requests that one organization has open, streams and long polls too: each holds a connection, and without
 * a share slow requests of one organization would hold all of them.
 */

/** Above its event streams (`READERS_PER_ORGANIZATION_MAX`). Higher: others find no connection. Lower: a busy one is refused. */
const REQUESTS_PER_ORGANIZATION_MAX = 4_000;
const OPEN_RETRY_SECONDS = 5;

interface OpenRequests {
  /**
   * Counts a request until its reply has ended.
   * @returns why it is refused: `rate_limit_exceeded`, the share is used up; `unavailable`, there are too many in all.
   */
  begin(organizationId: string, reply: Pick<FastifyReply, 'raw'>): DomainError | null;
}

const again = { retryAfterSeconds: OPEN_RETRY_SECONDS };
const REFUSALS = {
  organization: () =>
    new DomainError(
      'rate_limit_exceeded',
      'your organization has too many requests in progress: wait until some have ended',
      again,
    ),
  all: () => new DomainError('unavailable', 'the service has too many requests in progress: try again later', again),
};

/** @param max connections of the process. */
export const createOpenRequests = (max: number): OpenRequests => {
  const places = createShares({ max, shares: { organization: REQUESTS_PER_ORGANIZATION_MAX } });
  return {
    begin: (organizationId, { raw }) => {
      const place = places.take({ organization: organizationId });
      if ('full' in place) return REFUSALS[place.full]();
      // A client that goes shows by `close` alone, and a request by `inject` by `finish`.
      raw.once('finish', place.release).once('close', place.release);
      return null;
    },
  };
};

/**
 * Bounds of answers that are large or last long. A large answer is in memory until its client has read it; an export holds one
 * page, for as long as the client takes. Each organization has a share, so that slow clients of one use up its own.
 */

/** Large answers in memory, some 50 MB each at most. Higher: they exhaust the memory. Lower: clients wait for each other. */
const LARGE_ANSWERS_MAX = 16;
/** Higher: others wait for slow clients of one organization. Lower: its own requests wait for each other. */
const LARGE_ANSWERS_PER_ORGANIZATION_MAX = 4;
/** Each is an open request. Higher: they would not have their turn in time. Lower: short peaks are refused. */
const WAITING_MAX = 256;
/** Higher: the rest of the deadline is too short for the answer. Lower: short peaks are refused. */
const WAIT_MS_MAX = 6_000;
/** Exports in progress, some megabytes each. Higher: memory. Lower: auditors wait for each other. */
const EXPORTS_MAX = 32;
/** Higher: few organizations take all places. Lower: an organization cannot export several lists at once. */
const EXPORTS_PER_ORGANIZATION_MAX = 4;

/** A client that reads nothing for as long is cut off. Higher: few slow clients hold all places. Lower: bad networks fail. */
const SILENCE_MS_MAX = 60_000;

const RETRY_AFTER_SECONDS = 30;

type Reply = Pick<FastifyReply, 'raw'>;

export interface LargeAnswers {
  /**
   * Makes an answer when the organization's turn comes. Its place is free again when the reply has ended.
   * @throws {DomainError} `unavailable`: its turn did not come in time.
   */
  make<Answer>(organizationId: string, reply: Reply, answer: () => Promise<Answer>): Promise<Answer>;
  /**
   * Counts an export until its reply has ended.
   * @throws {DomainError} `rate_limit_exceeded`: the share is used up; `unavailable`: there are too many in all.
   */
  beginExport(organizationId: string, reply: Reply): void;
}

const tooMany = (): DomainError =>
  new DomainError('unavailable', 'too many large responses are in progress: send fewer requests at the same time');

interface LargeAnswersOptions {
  /** Default: `SILENCE_MS_MAX`. */
  readonly silenceMsMax?: number;
}

export const createLargeAnswers = ({ silenceMsMax = SILENCE_MS_MAX }: LargeAnswersOptions = {}): LargeAnswers => {
  /** Resolves when all of it was written, or its client is gone or reads nothing for too long. */
  const ended = ({ raw }: Reply): Promise<void> => {
    raw.setTimeout(silenceMsMax, () => raw.destroy());
    return finished(raw).catch(() => undefined);
  };

  const answers = createSemaphore({
    capacity: LARGE_ANSWERS_MAX,
    share: LARGE_ANSWERS_PER_ORGANIZATION_MAX,
    waitingMax: WAITING_MAX,
    busy: tooMany,
    timeout: { ms: WAIT_MS_MAX, error: tooMany },
  });
  const exports = createShares({ max: EXPORTS_MAX, shares: { organization: EXPORTS_PER_ORGANIZATION_MAX } });

  return {
    make: (organizationId, reply, answer) =>
      new Promise((resolve, reject) => {
        const hold = async (): Promise<void> => {
          await answer().then(resolve, reject);
          await ended(reply);
        };
        answers.run(hold, 1, organizationId).catch(reject);
      }),
    beginExport: (organizationId, reply) => {
      const place = exports.take({ organization: organizationId });
      if (!('full' in place)) return void ended(reply).then(place.release);
      const again = { retryAfterSeconds: RETRY_AFTER_SECONDS };
      if (place.full === 'all')
        throw new DomainError('unavailable', 'too many exports are in progress: try again later', again);
      throw new DomainError(
        'rate_limit_exceeded',
        'your organization has too many exports in progress: wait until one has ended',
        again,
      );
    },
  };
};
