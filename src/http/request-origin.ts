import type { FastifyRequest } from 'fastify';
import type { Origin } from '../commands/execute.ts';
import type { Caller } from '../domain/api-key/caller.ts';
import { addressClassOf } from '../domain/kernel/addresses.ts';
import { originPart } from '../domain/ports/requests.ts';
import { rootOfPart, SALT_BYTES, saltOf } from '../lib/transparency/transparency.ts';
import type { HttpDependencies } from './dependencies.ts';
import type { GuardedRoute } from './route-rules.ts';

const actorOf = ({ keyId, secret, auditor, member }: Caller): Pick<Origin, 'actor' | 'secret' | 'session'> => {
  if (member !== undefined) return { actor: `member:${keyId}`, session: member.sessionId };
  return auditor === undefined ? { actor: `key:${keyId}`, secret } : { actor: `auditor:${keyId}` };
};

/** Request facts that all events record. @param request with an id `req_…` and the client's address. */
export const requestOrigin = ({ id, ip }: Pick<FastifyRequest, 'id' | 'ip'>) => ({
  sourceClass: addressClassOf(ip),
  requestId: id,
  correlationId: id,
  causationId: id,
});

/** Metadata that events record about their request. @param request with an id `req_…` and the client's address. */
export const originOf = (caller: Caller, request: Pick<FastifyRequest, 'id' | 'ip'>): Origin => ({
  ...actorOf(caller),
  ...requestOrigin(request),
  organizationId: caller.organizationId,
  environment: caller.environment,
});

/** Longer user agents are cut. */
const USER_AGENT_CHARACTERS_MAX = 512;

/** Changes that need `manage` or `admin` are audited with the client's address. */
const isManaging = ({ permission }: GuardedRoute, { method }: FastifyRequest): boolean =>
  method !== 'GET' && (permission === 'manage' || permission === 'admin');

/** Stores the client's address and user agent before any event refers to them. */
export const keepOrigin = async (
  { requestOrigins, context: { system } }: Pick<HttpDependencies, 'requestOrigins' | 'context'>,
  origin: Origin,
  request: FastifyRequest,
): Promise<Origin> => {
  const client = {
    address: request.ip,
    userAgent: request.headers['user-agent']?.slice(0, USER_AGENT_CHARACTERS_MAX) ?? null,
    salt: saltOf(system.randomBytes(SALT_BYTES)),
  };
  const originId = system.uuid();
  await requestOrigins.put({ id: originId, organizationId: origin.organizationId, ...client, at: system.now() });
  return { ...origin, originId, originRoot: rootOfPart(originPart(client)) };
};

/** Like `originOf`, and also stores address and user agent of an audited request. */
export const keptOriginOf = async (
  deps: Pick<HttpDependencies, 'requestOrigins' | 'context'>,
  rule: GuardedRoute,
  caller: Caller,
  request: FastifyRequest,
): Promise<Origin> => {
  const origin = originOf(caller, request);
  return isManaging(rule, request) ? keepOrigin(deps, origin, request) : origin;
};
