import { z } from 'zod';
import { load } from '../../commands/execute.ts';
import { serviceHosts } from '../../commands/sending-domain/check-domain.ts';
import { deleteDomain } from '../../commands/sending-domain/delete-domain.ts';
import { rotateDkim } from '../../commands/sending-domain/dkim-keys.ts';
import { registerDomain } from '../../commands/sending-domain/register-domain.ts';
import { verifyDomain } from '../../commands/sending-domain/verify-domain.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { domainOf, parseMailbox } from '../../domain/email-address.ts';
import { isId } from '../../domain/ids.ts';
import type { Revision } from '../../domain/ports/event-store.ts';
import {
  type ExistingSendingDomain,
  requireOwnDomain,
  sendingDomain,
} from '../../domain/sending-domain/sending-domain.ts';
import { sendingDomainStream } from '../../domain/streams.ts';
import { visibleDomainId } from '../auth/authenticate.ts';
import { ifMatch, readYourWrites, setRevision } from '../consistency.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { endpoint, type RouteContext } from '../endpoint.ts';
import { domainSchema, type SerializedDomain, serializeDomain } from '../schemas/domain.ts';
import { listOf, listSchema } from '../schemas/envelope.ts';
import { decodeCursor, encodeCursor } from '../validation/cursor.ts';
import { pageParameters } from '../validation/fields.ts';

/** Loads a domain of the caller's organization. @throws {DomainError} `not_found`, `other_organization`. */
export const loadDomain = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{ readonly domain: ExistingSendingDomain; readonly revision: Revision | 'no-stream' }> => {
  if (!isId('dom', id)) throw new DomainError('not_found', 'domain not found');
  const { state, revision } = await load(context.store, sendingDomain, sendingDomainStream(id));
  return { domain: requireOwnDomain(state, caller.organizationId), revision };
};

/** Serializes a domain with its records from the key cache. */
export const serializeDomainOf = (
  { deps: { context }, auth }: Pick<RouteContext, 'deps' | 'auth'>,
  domain: ExistingSendingDomain,
): SerializedDomain =>
  serializeDomain(domain, {
    capturing: context.capturing,
    ...serviceHosts(context),
    records: auth.keyCache.domainRecordsOf(domain.domainId),
    now: context.system.now().toISOString(),
  });

/** A-labels, lower case; null: no address can be on such a domain. */
const domainName = (text: string): string | null => {
  const parsed = text.includes('@') ? 'not a name' : parseMailbox(`postmaster@${text}`);
  return typeof parsed === 'string' ? null : domainOf(parsed.address);
};

const body = z.strictObject({
  name: z
    .string()
    .refine((text) => domainName(text) !== null, 'is not a domain name')
    .transform((text) => domainName(text) ?? '')
    .describe('The part after the @ of addresses, such as `mail.example.com`.'),
});

export const registerDomainRoute = endpoint(
  'POST /v1/domains',
  {
    summary: 'Register a sending domain',
    body,
    examples: { 'A domain': { name: 'mail.example.com' } },
    answer: domainSchema,
  },
  async ({ origin, body: { name }, reply }, route) => {
    const { context } = route.deps;
    const { keyCache } = route.auth;
    const { domain, revision } = await registerDomain(context, origin, { name });
    setRevision(reply, revision);
    reply.header('location', `/v1/domains/${domain.domainId}`);
    await keyCache.catchUp();
    return serializeDomainOf(route, domain);
  },
);

const LIST = 'domains';
const query = z.strictObject(pageParameters);

export const listDomainsRoute = endpoint(
  'GET /v1/domains',
  { summary: 'List sending domains, newest first', query, answer: listSchema(domainSchema) },
  async ({ caller, query: { limit, after: cursor } }, route) => {
    const { deps, auth } = route;
    const after = decodeCursor(LIST, cursor);
    await Promise.all([readYourWrites(deps, ['domains']), auth.keyCache.catchUp()]);
    const { items, hasMore, next } = await deps.readModels.domains.list({
      organizationId: caller.organizationId,
      domainId: visibleDomainId(caller),
      limit,
      after,
    });
    return listOf(
      items.map((domain) => serializeDomainOf(route, domain)),
      hasMore,
      encodeCursor(LIST, next),
    );
  },
);

export const getDomainRoute = endpoint(
  'GET /v1/domains/:id',
  { summary: 'Read a domain and its DNS records', answer: domainSchema },
  async ({ caller, id, reply }, route) => {
    const { deps, auth } = route;
    const { domain, revision } = await loadDomain(deps, caller, id);
    setRevision(reply, revision);
    await auth.keyCache.catchUp();
    return serializeDomainOf(route, domain);
  },
);

export const verifyDomainRoute = endpoint(
  'POST /v1/domains/:id/verify',
  {
    summary: 'Check the DNS records of a domain now',
    description:
      'Asks the DNS without a cache and reports for each record what was found and what is wrong. A domain ' +
      'is verified once the `required` records are valid. If the DNS does not answer, nothing changes.',
    answer: domainSchema,
  },
  async ({ caller, origin, id, request, reply }, route) => {
    const { deps, auth } = route;
    await loadDomain(deps, caller, id);
    const { domain, revision } = await verifyDomain(deps.context, origin, { domainId: id, ...ifMatch(request) });
    setRevision(reply, revision);
    await auth.keyCache.catchUp();
    return serializeDomainOf(route, domain);
  },
);

export const rotateDkimRoute = endpoint(
  'POST /v1/domains/:id/dkim/rotate',
  {
    summary: 'Rotate the DKIM keys of a domain',
    description:
      'The current keys sign until the new RSA record is seen in the DNS, by an automatic check or by ' +
      '`verify`. Keep the earlier records until `safe_to_remove_at`: mail in transit is verified with them. ' +
      'Rotating again before that replaces the waiting keys.',
    answer: domainSchema,
  },
  async ({ caller, origin, id, request, reply }, route) => {
    const { deps, auth } = route;
    await loadDomain(deps, caller, id);
    const { domain, revision } = await rotateDkim(deps.context, origin, { domainId: id, ...ifMatch(request) });
    setRevision(reply, revision);
    await auth.keyCache.catchUp();
    return serializeDomainOf(route, domain);
  },
);

export const deleteDomainRoute = endpoint(
  'DELETE /v1/domains/:id',
  {
    summary: 'Delete a domain and revoke the keys bound to it',
    description:
      'Waiting messages of the domain stay as they are and fail when they become due. Cancel them first to ' +
      'end them at once.',
  },
  async ({ caller, origin, id, request }, { deps, auth }) => {
    await loadDomain(deps, caller, id);
    const { load: loadKeyCache } = auth.keyCache;
    await deleteDomain(deps.context, origin, { by: caller, domainId: id, loadKeyCache, ...ifMatch(request) });
    await auth.keyCache.catchUp();
  },
);
