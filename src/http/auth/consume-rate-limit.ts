import type { FastifyReply } from 'fastify';
import { DomainError } from '../../domain/domain-error.ts';
import { type ActionKind, effectiveLimits, type RateLimiter } from '../../domain/rate-limits.ts';
import type { Authenticated } from './authenticate.ts';
import type { KeyDirectory } from './key-directory.ts';
import { setRateLimitHeaders } from './rate-limit-headers.ts';

export interface SpendTools {
  readonly rateLimiter: RateLimiter;
  readonly directory: Pick<KeyDirectory, 'ceilingsOf'>;
}

/** How many actions of a kind. */
export interface Cost {
  readonly kind: ActionKind;
  readonly count: number;
}

/** A key's own limit a minute, or the default, and never more than its organization may have. */
export const limitOf = ({ directory }: SpendTools, { caller, rateLimits }: Authenticated, kind: ActionKind): number =>
  effectiveLimits(rateLimits, directory.ceilingsOf(caller.organizationId))[kind];

/**
 * Counts actions against the key's limit, all or none, and tells both.
 * @param reply where both are told; null: a protocol without a place for it.
 * @throws {DomainError} `rate_limit_exceeded`.
 */
export const consumeRateLimit = async (
  tools: SpendTools,
  admitted: Authenticated,
  { kind, count }: Cost,
  reply: FastifyReply | null,
): Promise<void> => {
  const limit = limitOf(tools, admitted, kind);
  const result = await tools.rateLimiter.take(`${admitted.caller.keyId}:${kind}`, count, limit);
  const retryAfterSeconds = Math.max(1, result.retryAfterSeconds);
  // A refusal tells one time to come again, whichever field is read.
  const told = result.allowed ? result : { ...result, resetSeconds: retryAfterSeconds };
  if (reply !== null) setRateLimitHeaders(reply, kind, told);
  if (result.allowed) return;
  throw new DomainError('rate_limit_exceeded', `rate limit of ${limit} ${kind} requests a minute exceeded`, {
    retryAfterSeconds,
  });
};
