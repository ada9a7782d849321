import type { FastifyRequest } from 'fastify';
import type { Origin } from '../commands/context.ts';
import { addressClassOf } from '../domain/address-ranges.ts';
import type { Caller } from '../domain/api-key/key-authority.ts';
import type { HttpDependencies } from './dependencies.ts';
import type { GuardedRoute } from './route-table.ts';

/** What events tell of the request behind them. @param request its id is `req_…`, its address the client's. */
export const originOf = (
  { keyId, secret, organizationId, environment }: Caller,
  { id, ip }: Pick<FastifyRequest, 'id' | 'ip'>,
): Origin => ({
  actor: `key:${keyId}`,
  secret,
  sourceClass: addressClassOf(ip),
  organizationId,
  environment,
  requestId: id,
  correlationId: id,
  causationId: id,
});

/** More says nothing of who it was. */
const USER_AGENT_CHARACTERS_MAX = 512;

/** What changes something by `manage` or `admin`: an auditor asks from where. */
const isManaging = ({ permission }: GuardedRoute, { method }: FastifyRequest): boolean =>
  method !== 'GET' && (permission === 'manage' || permission === 'admin');

/** The same; of a request that manages something the client's address and user agent are kept before any event names them. */
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
