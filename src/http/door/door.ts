import type { FastifyReply, FastifyRequest } from 'fastify';
import { allows } from '../../domain/api-key/permissions.ts';
import type { Caller } from '../../domain/caller.ts';
import { type ActionKind, DEFAULT_RATE_LIMITS, type RateLimiter, type RateLimits } from '../../domain/rate-limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { GuardedRoute } from '../route-table.ts';
import { type Admitted, type AuthenticateTools, authenticate } from './authenticate.ts';
import { setRateLimitHeaders } from './rate-limit-headers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null until the door let him in. */
    caller: Caller | null;
  }
}

export interface DoorTools extends AuthenticateTools {
  readonly rateLimiter: RateLimiter;
}

/** Where no route is: asking for it counts as reading. */
export const NOWHERE = { kind: 'read' } as const;

/** A key's own limit, or the default, and never more than its organization may have. */
const limitOf = (kind: ActionKind, own: RateLimits, ceilings: RateLimits | null): number =>
  Math.min(own[kind] ?? DEFAULT_RATE_LIMITS[kind], ceilings?.[kind] ?? Number.POSITIVE_INFINITY);

const spend = async (
  { rateLimiter, directory }: DoorTools,
  { caller, rateLimits }: Admitted,
  kind: ActionKind,
  reply: FastifyReply,
): Promise<void> => {
  const limit = limitOf(kind, rateLimits, directory.ceilingsOf(caller.organizationId));
  const result = await rateLimiter.take(`${caller.keyId}:${kind}`, 1, limit);
  setRateLimitHeaders(reply, kind, result);
  if (result.allowed) return;
  const retryAfterSeconds = Math.max(1, result.retryAfterSeconds);
  throw new Refusal('rate_limit_exceeded', `rate limit of ${limit} ${kind} requests a minute exceeded`, {
    retryAfterSeconds,
  });
};

const requireRight = (caller: Caller, { permission, environments }: GuardedRoute): void => {
  if (!allows(caller.permissions, permission)) {
    throw new Refusal('permission_missing', `API key lacks '${permission}' permission`);
  }
  if (!environments.includes(caller.environment)) {
    throw new Refusal('environment_not_allowed', 'a test key cannot do this');
  }
};

const requireKnownHeaders = (request: FastifyRequest, idempotent: boolean): void => {
  if (request.headers['idempotency-key'] === undefined || idempotent) return;
  throw new Refusal('header_not_allowed', 'this endpoint does not take an Idempotency-Key', {
    details: { 'Idempotency-Key': ['Idempotency-Key is not taken here'] },
  });
};

/**
 * Who asks, whether he may, and whether not too often; before the body is read.
 * @throws {Refusal} by the catalogue.
 */
export const passDoor = async (
  tools: DoorTools,
  rule: GuardedRoute | typeof NOWHERE,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  const admitted = await authenticate(tools, request.headers.authorization, request.ip);
  request.caller = admitted.caller;
  await spend(tools, admitted, rule.kind, reply);
  if (!('permission' in rule)) return;
  requireRight(admitted.caller, rule);
  requireKnownHeaders(request, rule.idempotent === true);
  if (rule.secret === true) reply.header('cache-control', 'no-store');
};
