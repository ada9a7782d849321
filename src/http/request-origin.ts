import type { FastifyRequest } from 'fastify';
import type { Origin } from '../commands/context.ts';
import { addressClassOf } from '../domain/address-ranges.ts';
import type { Caller } from '../domain/api-key/key-authority.ts';
import type { HttpDependencies } from './dependencies.ts';
import type { GuardedRoute } from './route-rules.ts';

/** Metadata that events record about their request. @param request with an id `req_…` and the client's address. */
export const originOf = (
  { keyId, secret, auditor, organizationId, environment }: Caller,
  { id, ip }: Pick<FastifyRequest, 'id' | 'ip'>,
): Origin => ({
  ...(auditor === undefined ? { actor: `key:${keyId}`, secret } : { actor: `auditor:${keyId}` }),
  sourceClass: addressClassOf(ip),
  organizationId,
  environment,
  requestId: id,
  correlationId: id,
  causationId: id,
});

/** Longer user agents are cut. */
const USER_AGENT_CHARACTERS_MAX = 512;

/** Changes that need `manage` or `admin` are audited with the client's address. */
const isManaging = ({ permission }: GuardedRoute, { method }: FastifyRequest): boolean =>
  method !== 'GET' && (permission === 'manage' || permission === 'admin');

/**
 * As `originOf`; for an audited request the client's address and user agent are stored before any event refers to them.
 */
export const keptOriginOf = async (
  { requestOrigins, context: { system } }: Pick<HttpDependencies, 'requestOrigins' | 'context'>,
  rule: GuardedRoute,
  caller: Caller,
  request: FastifyRequest,
): Promise<Origin> => {
  const origin = originOf(caller, request);
  if (!isManaging(rule, request)) return origin;
  const originId = system.uuid();
  await requestOrigins.put({
    id: originId,
    organizationId: caller.organizationId,
    address: request.ip,
    userAgent: request.headers['user-agent']?.slice(0, USER_AGENT_CHARACTERS_MAX) ?? null,
    at: system.now(),
  });
  return { ...origin, originId };
};
