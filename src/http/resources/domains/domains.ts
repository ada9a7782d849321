import { z } from 'zod';
import { type LoadedStream, load } from '../../../commands/execute.ts';
import {
  changeDomain,
  deleteDomain,
  registerDomain,
  rotateDkim,
  verifyDomain,
} from '../../../commands/sending-domain/change-domain.ts';
import { serviceHosts } from '../../../commands/sending-domain/check-domain.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { domainRecordsStream, sendingDomainStream } from '../../../domain/kernel/streams.ts';
import { domainRecords } from '../../../domain/sending-domain/domain-records.ts';
import type { Branding } from '../../../domain/sending-domain/events.ts';
import {
  type ExistingSendingDomain,
  requireOwnDomain,
  type SendingDomain,
  sendingDomain,
} from '../../../domain/sending-domain/sending-domain.ts';
import { mapConcurrently } from '../../../lib/async/async.ts';
import { domainOf, parseMailbox } from '../../../lib/mime/mime.ts';
import { visibleDomainId } from '../../auth/permissions.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint, type RouteContext } from '../../endpoint.ts';
import { shownLine, url } from '../../fields.ts';
import { ifMatch, listEndpoint, resourceEndpoint, setRevision, statesOf } from '../../reading.ts';
import { tracking } from '../messages/send-fields.ts';
import { domainSchema, inboundSchema, type SerializedDomain, serializeDomain } from './domain.ts';

/** Loads a domain of the caller's organization. @throws {DomainError} `not_found`, `other_organization`. */
export const loadDomain = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Pick<Caller, 'organizationId'>,
  id: string,
): Promise<
  Pick<LoadedStream<unknown>, 'revision'> & {
    readonly domain: ExistingSendingDomain;
    readonly known: LoadedStream<SendingDomain>;
  }
> => {
  if (!isId('dom', id)) throw new DomainError('not_found', 'domain not found');
  const known = await load(context.store, sendingDomain, sendingDomainStream(id));
  return { domain: requireOwnDomain(known.state, caller.organizationId), revision: known.revision, known };
};

/** Serializes a domain with its records from the key cache. */
const serializeDomainOf = (
  { deps: { context }, auth }: Pick<RouteContext, 'deps' | 'auth'>,
  domain: ExistingSendingDomain,
  records = auth.keyCache.domainRecordsOf(domain.domainId),
): SerializedDomain =>
  serializeDomain(domain, {
    capturing: context.capturing,
    ...serviceHosts(context),
    records,
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
    .describe('The part after the @ of your sender addresses, such as `mail.example.com`.'),
  inbound: inboundSchema.optional(),
});

export const registerDomainRoute = endpoint(
  'POST /v1/domains',
  {
    summary: 'Add a sending domain',
    body,
    examples: {
      'A domain': { name: 'mail.example.com' },
      'A domain that receives mail': { name: 'reply.example.com', inbound: { mx: true } },
    },
    answer: domainSchema,
  },
  async ({ origin, body: { name, inbound }, reply }, route) => {
    const { context } = route.deps;
    const { keyCache } = route.auth;
    const { domain, revision } = await registerDomain(context, origin, {
      name,
      ...(inbound === undefined ? {} : { inbound }),
    });
    setRevision(reply, revision);
    reply.header('location', `/v1/domains/${domain.domainId}`);
    await keyCache.catchUp();
    return serializeDomainOf(route, domain);
  },
);

/** A domain with what its own stream says of the DNS: the key cache knows only what it is now. */
const serializeFolded = async (route: RouteContext, domain: ExistingSendingDomain): Promise<SerializedDomain> => {
  const { state } = await load(route.deps.context.store, domainRecords, domainRecordsStream(domain.domainId));
  return serializeDomainOf(route, domain, state);
};

const domainsThen = async (route: RouteContext, listed: readonly ExistingSendingDomain[]) => {
  const { context } = route.deps;
  const streams = listed.map(({ domainId }) => sendingDomainStream(domainId));
  const domains = await statesOf(context, sendingDomain, streams);
  return mapConcurrently(domains, { system: context.system, concurrency: 1 }, (domain) =>
    serializeFolded(route, domain),
  );
};

export const listDomainsRoute = listEndpoint(
  'GET /v1/domains',
  { summary: 'List sending domains', of: 'domains', item: domainSchema, takesAt: true },
  async (by, caller, route) => {
    const { deps, auth } = route;
    const wanted = { organizationId: caller.organizationId, domainId: visibleDomainId(caller), ...by };
    const [page] = await Promise.all([deps.readModels.domains.list(wanted), auth.keyCache.catchUp()]);
    if (by.withDeleted) return { ...page, items: await domainsThen(route, page.items) };
    return { ...page, items: page.items.map((domain) => serializeDomainOf(route, domain)) };
  },
);

export const getDomainRoute = resourceEndpoint(
  'GET /v1/domains/:id',
  { summary: 'Get a domain and its DNS records', answer: domainSchema },
  async ({ caller, id, reply }, route) => {
    const { domain, revision } = await loadDomain(route.deps, caller, id);
    setRevision(reply, revision);
    return serializeFolded(route, domain);
  },
);

export const verifyDomainRoute = endpoint(
  'POST /v1/domains/:id/verify',
  {
    summary: 'Verify a domain',
    description:
      'Queries the DNS without a cache, and returns the value and the problem found for each record. The domain is ' +
      'verified once all `required` records are valid. If the DNS does not answer, nothing changes.',
    answer: domainSchema,
  },
  async ({ caller, origin, id, request, reply }, route) => {
    const { deps, auth } = route;
    const { known } = await loadDomain(deps, caller, id);
    const { domain, revision } = await verifyDomain(deps.context, origin, { domainId: id, known, ...ifMatch(request) });
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
      'Creates new DKIM keys and returns the DNS records to publish. The current keys sign until a check finds the new RSA ' +
      'record in the DNS; the check runs automatically, or when you call `verify`. Keep the earlier records until ' +
      '`safe_to_remove_at`: receivers verify mail in transit with them. Rotating again before the new record is found ' +
      'replaces the pending keys.',
    answer: domainSchema,
  },
  async ({ caller, origin, id, request, reply }, route) => {
    const { deps, auth } = route;
    const { known } = await loadDomain(deps, caller, id);
    const { domain, revision } = await rotateDkim(deps.context, origin, { domainId: id, known, ...ifMatch(request) });
    setRevision(reply, revision);
    await auth.keyCache.catchUp();
    return serializeDomainOf(route, domain);
  },
);

export const deleteDomainRoute = endpoint(
  'DELETE /v1/domains/:id',
  {
    summary: 'Delete a domain',
    description:
      'Deletes the domain and revokes the API keys bound to it. Waiting messages of the domain fail when they become due: ' +
      'cancel them first to end them now.',
  },
  async ({ caller, origin, id, request }, { deps, auth }) => {
    const { known } = await loadDomain(deps, caller, id);
    const { load: loadKeyCache } = auth.keyCache;
    await deleteDomain(deps.context, origin, { by: caller, domainId: id, known, loadKeyCache, ...ifMatch(request) });
    await auth.keyCache.catchUp();
  },
);

/** Longer names push the question of the page out of sight. */
const SENDER_CHARACTERS_MAX = 100;
const changes = z.strictObject({
  branding: z
    .strictObject({
      name: shownLine(SENDER_CHARACTERS_MAX)
        .nullable()
        .default(null)
        .describe('Name of the sender. null: the name of the domain is shown.'),
      color: z
        .string()
        .refine((text) => /^#[0-9a-fA-F]{6}$/.test(text), 'must be a color such as #1a56b0')
        .transform((text) => text.toLowerCase())
        .nullable()
        .default(null)
        .describe('Color of buttons, `#rrggbb`. Their text is black or white, whichever is legible.'),
      logo_url: url
        .nullable()
        .default(null)
        .describe('URL of an image on your server (https). Without a logo, the pages load nothing from other hosts.'),
    })
    .nullable()
    .optional()
    .describe('How the sender appears on recipient pages. Replaced as a whole. null removes it.'),
  tracking: tracking
    .optional()
    .describe('Default tracking of mail that is accepted from now on. A message can override it.'),
  inbound: inboundSchema.optional(),
});

type SentBranding = NonNullable<z.output<typeof changes>['branding']>;

const brandingOf = (sent: SentBranding | null): Branding | null =>
  sent === null ? null : { name: sent.name, color: sent.color, logoUrl: sent.logo_url };

export const updateDomainRoute = endpoint(
  'PATCH /v1/domains/:id',
  {
    summary: 'Update a domain',
    description:
      'Changes the tracking, the appearance of recipient pages and whether mail is received. Omitted fields stay unchanged.',
    body: changes,
    examples: {
      'Name and color of recipient pages': { branding: { name: 'Example Shop', color: '#1a56b0' } },
      Neither: { branding: null },
      'Track clicks': { tracking: { clicks: true } },
      'Receive mail': { inbound: { mx: true } },
    },
    answer: domainSchema,
  },
  async ({ caller, origin, id, body: { branding, tracking: tracked, inbound }, request, reply }, route) => {
    const { deps, auth } = route;
    const { known } = await loadDomain(deps, caller, id);
    const { domain, revision } = await changeDomain(deps.context, origin, {
      domainId: id,
      known,
      settings: {
        ...(branding === undefined ? {} : { branding: brandingOf(branding) }),
        ...(tracked === undefined ? {} : { tracking: tracked }),
        ...(inbound === undefined ? {} : { inbound }),
      },
      ...ifMatch(request),
    });
    setRevision(reply, revision);
    await auth.keyCache.catchUp();
    return serializeDomainOf(route, domain);
  },
);
