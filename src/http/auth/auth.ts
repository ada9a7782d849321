import type { FastifyReply, FastifyRequest } from 'fastify';
import { TimedOut } from '../../async/with-timeout.ts';
import { allows } from '../../domain/api-key/permissions.ts';
import type { Caller } from '../../domain/caller.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { RateLimiter } from '../../domain/rate-limits.ts';
import type { GuardedRoute } from '../route-table.ts';
import { type Authenticated, type AuthenticateTools, authenticate } from './authenticate.ts';
import { consumeRateLimit } from './consume-rate-limit.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null until the door let him in. */
    caller: Caller | null;
    /** The same with its limits. */
    admitted: Authenticated | null;
    /** The limit is used up, and the handler is to say so once it has read what the request would cost. */
    overLimit: DomainError | null;
    /** It was answered, because it took too long: what is still done for it has no effect any more. */
    isLate: boolean;
  }
}

export interface AuthTools extends AuthenticateTools {
  readonly rateLimiter: RateLimiter;
}

/**
 * Whoever was let in longer ago is looked at again before he is served: with what the directory may be behind, an ended
 * key is served for a second at most. Shorter checks what has just been checked.
 */
const ADMITTED_MS_MAX = 100;

/** Where no route is: asking for it counts as reading. */
export const NOWHERE = { kind: 'read' } as const;

/** @throws {DomainError} `permission_missing`, `environment_not_allowed`. */
export const requirePermission = (
  caller: Caller,
  { permission, environments }: Pick<GuardedRoute, 'permission' | 'environments'>,
): void => {
  if (!allows(caller.permissions, permission)) {
    throw new DomainError('permission_missing', `API key lacks '${permission}' permission`);
  }
  if (!environments.includes(caller.environment)) {
    throw new DomainError('environment_not_allowed', 'a test key cannot do this: use a live key');
  }
};

const requireKnownHeaders = (request: FastifyRequest, idempotent: boolean): void => {
  if (request.headers['idempotency-key'] === undefined || idempotent) return;
  throw new DomainError('header_not_allowed', 'this endpoint does not take an Idempotency-Key', {
    details: { 'Idempotency-Key': ['Idempotency-Key is not taken here'] },
  });
};

/**
 * Who asks, whether he may, and whether not too often; before the body is read.
 * @throws {DomainError} by the catalogue.
 */
export const authenticateRequest = async (
  tools: AuthTools,
  rule: GuardedRoute | typeof NOWHERE,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  const admitted = await authenticate(tools, request.headers.authorization, request.ip);
  request.caller = admitted.caller;
  request.admitted = admitted;
  await consumeRateLimit(tools, admitted, { kind: rule.kind, count: 1 }, reply).catch((error: unknown) => {
    if (!('costInBody' in rule) || !(error instanceof DomainError)) throw error;
    request.overLimit = error;
  });
  if (!('permission' in rule)) return;
  requirePermission(admitted.caller, rule);
  requireKnownHeaders(request, rule.idempotent === true);
  if (rule.secret === true) reply.header('cache-control', 'no-store');
};

/**
 * Who asks, as of now: bodies and events may be waited for longer than a key works that has been ended meanwhile.
 * @param upToLog with every change of keys that the log has at this moment, for answers that show what it has.
 * @throws {DomainError} by the catalogue.
 */
export const reauthenticate = async (
  tools: AuthTools,
  rule: GuardedRoute,
  request: FastifyRequest,
  upToLog = false,
): Promise<Caller> => {
  const { admitted } = request;
  if (admitted === null) throw new Error('a handler ran without the door');
  if (request.isLate) throw new TimedOut('the request was answered before it was done');
  if (upToLog) await tools.directory.catchUp();
  else if (tools.system.monotonicMs() - admitted.atMs < ADMITTED_MS_MAX) return admitted.caller;
  const again = await authenticate(tools, request.headers.authorization, request.ip);
  request.caller = again.caller;
  request.admitted = again;
  requirePermission(again.caller, rule);
  return again.caller;
};
