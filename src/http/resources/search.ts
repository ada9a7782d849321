import { z } from 'zod';
import type { Caller } from '../../domain/api-key/caller.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { type IdPrefix, isId, timeInId } from '../../domain/kernel/ids.ts';
import { RECIPIENT_STATUSES } from '../../domain/message/message.ts';
import type { ProjectionName } from '../../projections/projection.ts';
import { type FoundKind, NAMED_KINDS, type Within } from '../../projections/search.ts';
import { holds, seesContents, visibleDomainId } from '../auth/permissions.ts';
import { endpoint, type RouteContext } from '../endpoint.ts';
import { line, listOf, listSchema } from '../fields.ts';
import { readRecent } from '../reading.ts';
import { type GuardedRouteName, ROUTES } from '../route-table.ts';
import { address, findInbound, loadVisibleInbound } from './inbound.ts';
import { findMessages, messageFilters } from './messages/find-messages.ts';
import { scopeOf } from './refused-requests.ts';
import { idOfAddress, visibleDomain } from './suppressions/suppressions.ts';

/** Types of search results. `messages`, `tag` and `inbound_messages` are lists by a filter. */
const FOUND_TYPES = [
  'message',
  'messages',
  'event',
  'request',
  'api_key',
  'domain',
  'template',
  'webhook',
  'webhook_delivery',
  'topic',
  'inbound_message',
  'inbound_messages',
  'inbound_route',
  'suppression',
  'erasure',
  'member',
  'tag',
] as const;

const count = z.int().min(0);

const foundSchema = z
  .strictObject({
    type: z.enum(FOUND_TYPES),
    id: z.string().nullable().describe('Id of the resource. null: the result is a list.'),
    title: z.string().describe('Text to show: a name, a subject, an event type, or a description of the list.'),
    path: z.string().describe('Path of this API that returns the resource or the list.'),
    message: z
      .strictObject({
        status: z.enum(RECIPIENT_STATUSES),
        partial: z.boolean(),
        recipients: count.describe('Number of recipients.'),
        delivered: count.describe('Recipients with the status `delivered`.'),
        bounced: count.describe('Recipients with the status `bounced`.'),
      })
      .nullable()
      .describe('State of a message. null: the result is not a message.'),
  })
  .meta({ id: 'SearchResult' });
export type SerializedSearchResult = z.infer<typeof foundSchema>;

/** Searches resources by id or by name. */

/** Results per kind, so that one kind does not crowd out the others. */
const OF_KIND_MAX = 5;

interface SearchContext {
  readonly route: RouteContext;
  readonly caller: Caller;
  readonly text: string;
  readonly within: Within;
}
type SearchResult = Omit<SerializedSearchResult, 'message'> & Partial<Pick<SerializedSearchResult, 'message'>>;
type SearchResults = Promise<readonly SearchResult[]>;

const may = ({ caller }: SearchContext, name: GuardedRouteName): boolean => {
  const { permission, environments } = ROUTES[name];
  const named: readonly Environment[] = environments;
  return holds(caller.permissions, permission) && named.includes(caller.environment);
};

interface ResourceKind {
  readonly type: SerializedSearchResult['type'];
  readonly prefix: IdPrefix;
  /** Its list, and the route that reads one. */
  readonly path: string;
  readonly route: GuardedRouteName;
  /** Live keys see those of both environments. */
  readonly sharesEnvironments?: true;
}

const TEMPLATE = { type: 'template', prefix: 'tpl', path: '/v1/templates', route: 'GET /v1/templates/:id' } as const;

const SHOWN: Readonly<Record<FoundKind, ResourceKind>> = {
  api_key: {
    type: 'api_key',
    prefix: 'key',
    path: '/v1/api-keys',
    route: 'GET /v1/api-keys/:id',
    sharesEnvironments: true,
  },
  domain: { type: 'domain', prefix: 'dom', path: '/v1/domains', route: 'GET /v1/domains/:id' },
  template: TEMPLATE,
  template_alias: TEMPLATE,
  webhook: { type: 'webhook', prefix: 'whk', path: '/v1/webhooks', route: 'GET /v1/webhooks/:id' },
  topic: { type: 'topic', prefix: 'top', path: '/v1/topics', route: 'GET /v1/topics/:id' },
  inbound_route: {
    type: 'inbound_route',
    prefix: 'irt',
    path: '/v1/inbound-routes',
    route: 'GET /v1/inbound-routes/:id',
  },
  suppression: { type: 'suppression', prefix: 'sup', path: '/v1/suppressions', route: 'GET /v1/suppressions/:id' },
  erasure: { type: 'erasure', prefix: 'ers', path: '/v1/erasures', route: 'GET /v1/erasures/:id' },
};

const withinOf = ({ within, caller }: SearchContext, { sharesEnvironments }: ResourceKind): Within =>
  sharesEnvironments === true && caller.environment === 'live' ? { ...within, environments: ['live', 'test'] } : within;

const found = ({ type, path }: ResourceKind, id: string, name: string | null): SearchResult => ({
  type,
  id,
  title: name ?? id,
  path: `${path}/${id}`,
});

/** A suppression that the caller may read. Keys that see their own domain only find what its messages caused. */
const suppressionById = async (searching: SearchContext, id: string): Promise<readonly { readonly id: string }[]> => {
  const { caller, route, within } = searching;
  if (!may(searching, SHOWN.suppression.route)) return [];
  const { search, suppressions } = route.deps.readModels;
  const domainId = await visibleDomain(route.deps, caller);
  if (domainId === null) return search.byId('suppression', { ...within, id });
  const { organizationId, environment } = caller;
  const now = route.deps.context.system.now().toISOString();
  const by = { organizationId, environment, now, reason: null, scope: null, domainId, suppressionId: id };
  const { items } = await suppressions.list({ ...by, limit: 1, after: null });
  return items.map(({ suppressionId }) => ({ id: suppressionId }));
};

const resourcesById = async (searching: SearchContext): SearchResults => {
  const { text, route } = searching;
  const kinds = Object.entries(SHOWN) as [FoundKind, ResourceKind][]; // the keys of that very object
  const [kind, shown] = kinds.find(([, { prefix }]) => isId(prefix, text)) ?? [];
  if (kind === undefined || shown === undefined || !may(searching, shown.route)) return [];
  if (kind === 'suppression') return (await suppressionById(searching, text)).map(({ id }) => found(shown, id, null));
  const rows = await route.deps.readModels.search.byId(kind, { ...withinOf(searching, shown), id: text });
  return rows.map(({ id, name }) => found(shown, id, name));
};

const SCHEME = /^https?:\/\//i;

const resourcesByName = async (searching: SearchContext): SearchResults => {
  const { text, route } = searching;
  const kinds = NAMED_KINDS.filter((kind) => may(searching, SHOWN[kind].route));
  const hits = await Promise.all(
    kinds.map(async (kind) => {
      const name = kind === 'webhook' ? text.replace(SCHEME, '') : text;
      if (name === '') return [];
      const by = { ...withinOf(searching, SHOWN[kind]), name, limit: OF_KIND_MAX };
      const rows = await route.deps.readModels.search.byName(kind, by);
      return rows.map(({ id, name: title }) => found(SHOWN[kind], id, title));
    }),
  );
  return hits.flat();
};

const memberById = async (searching: SearchContext): SearchResults => {
  const { text, caller, route } = searching;
  const known = isId('mbr', text) && may(searching, 'GET /v1/members/:id') && route.auth.keyCache.memberOf(text);
  if (!known || known.organizationId !== caller.organizationId) return [];
  return [{ type: 'member', id: text, title: known.member.role, path: `/v1/members/${text}` }];
};

const deliveryById = async (searching: SearchContext): SearchResults => {
  const { text, within, caller, route } = searching;
  if (!isId('dlv', text) || !may(searching, 'GET /v1/webhooks/:id/deliveries/:delivery')) return [];
  const { readModels, webhookDeliveries } = route.deps;
  const [delivery] = await readModels.inShareOf(caller.organizationId, () =>
    webhookDeliveries.find({ ids: [text], limit: 1 }),
  );
  const webhookId = delivery?.webhookId;
  if (webhookId === undefined) return [];
  const [webhook] = await readModels.search.byId('webhook', { ...within, id: webhookId });
  if (webhook === undefined) return [];
  const path = `/v1/webhooks/${webhookId}/deliveries/${text}`;
  return [{ type: 'webhook_delivery', id: text, title: webhook.name ?? webhookId, path }];
};

/**
 * Resolves what people paste or type: ids, addresses, `Message-ID`s, request ids, SMTP codes, and beginnings of names. Each
 * look-up is a probe of an index; what a caller may not read, they do not find.
 */

const QUERY_CHARACTERS_MAX = 320;
const RESULTS_MAX = 20;

const MESSAGE_ID = /^<?(?<id>msg_[a-z2-7]{26})(?:@[^\s<>@]+>?)?$/;

/** By its id, or a `Message-ID` that holds it. */
const messageById = async ({ text, within, caller, route }: SearchContext): SearchResults => {
  const id = MESSAGE_ID.exec(text)?.groups?.id;
  if (id === undefined) return [];
  const { context, readModels } = route.deps;
  const row = await readModels.search.message({ ...within, id, domainId: visibleDomainId(caller) });
  if (row === undefined) return [];
  const head = seesContents(caller) ? (await context.contents.heads([row.contentId])).get(row.contentId) : undefined;
  const title = head?.kind === 'message' && head.subject !== '' ? head.subject : id;
  const { status, partial, recipients, delivered, bounced } = row;
  const state = { status, partial, recipients, delivered, bounced };
  return [{ type: 'message', id, title, path: `/v1/messages/${id}`, message: state }];
};

/** Only for callers who may see contents: an inbound message is shown whole. */
const inboundById = async ({ text, caller, route: { deps } }: SearchContext): SearchResults => {
  if (!isId('inb', text) || !seesContents(caller)) return [];
  const found = await loadVisibleInbound(deps, caller, text).catch((error: unknown) => {
    if (error instanceof DomainError) return null;
    throw error;
  });
  if (found === null) return [];
  const head = (await deps.context.contents.heads([found.contentId])).get(found.contentId);
  const title = (head?.kind === 'inbound' && head.subject) || text;
  return [{ type: 'inbound_message', id: text, title, path: `/v1/inbound/${text}` }];
};

/** API path of the resource that an event concerns. */
const pathOfEvent = (caller: Caller, type: string, subjectId: string): string => {
  if (isId('msg', subjectId)) return `/v1/messages/${subjectId}/events`;
  if (isId('inb', subjectId) && seesContents(caller)) return `/v1/inbound/${subjectId}`;
  const shown = Object.values(SHOWN).find(({ prefix }) => isId(prefix, subjectId));
  return shown === undefined ? `/v1/events?types=${type}` : `${shown.path}/${subjectId}`;
};

const eventById = async ({ text, within, caller, route }: SearchContext): SearchResults => {
  if (!isId('evt', text)) return [];
  const { context, readModels } = route.deps;
  const { organizationId, environment } = caller;
  const at = new Date(timeInId(text));
  const { position } = await readModels.events.placeAt({
    organizationId,
    environment,
    at,
    head: await context.store.head(),
  });
  const by = { ...within, id: text, from: position, domainId: visibleDomainId(caller) };
  const event = await readModels.search.event(by);
  if (event === undefined) return [];
  return [{ type: 'event', id: text, title: event.type, path: pathOfEvent(caller, event.type, event.subjectId) }];
};

const filtersSchema = z.strictObject(messageFilters());

/** The list of messages by one filter, if it holds any. Text that the filter does not take finds none. */
const messagesBy = async (
  { text, caller, route: { deps } }: SearchContext,
  filter: keyof z.input<typeof filtersSchema>,
  words: string,
): SearchResults => {
  const { success, data } = filtersSchema.safeParse({ [filter]: text });
  if (!success) return [];
  const { items } = await findMessages(deps, caller, { ...data, limit: 1, after: null });
  if (items.length === 0) return [];
  const path = `/v1/messages?${new URLSearchParams({ [filter]: text })}`;
  return [{ type: filter === 'tag' ? 'tag' : 'messages', id: null, title: `${words} ${text}`, path }];
};

/** The list of inbound messages by one address, if it holds any. */
const inboundBy = async (
  { text, caller, route: { deps } }: SearchContext,
  filter: 'from' | 'to',
  words: string,
): SearchResults => {
  const { success } = address().safeParse(text);
  if (!success) return [];
  const { items } = await findInbound(deps, caller, { [filter]: text, limit: 1, after: null });
  if (items.length === 0) return [];
  const path = `/v1/inbound?${new URLSearchParams({ [filter]: text })}`;
  return [{ type: 'inbound_messages', id: null, title: `${words} ${text}`, path }];
};

const ADDRESS = /^[^\s@]+@[^\s@]+$/;

/** Also by part of an address, or by a name. Only for callers who may see addresses. */
const byAddress = async (searching: SearchContext): SearchResults => {
  const { text, caller, route } = searching;
  if (text.startsWith('msg_')) return [];
  const lists = [messagesBy(searching, 'to', 'Messages to'), messagesBy(searching, 'from', 'Messages from')];
  if (!ADDRESS.test(text)) return (await Promise.all(lists)).flat();
  const id = await idOfAddress(route.deps, caller, text);
  const rows = id === null ? [] : await suppressionById(searching, id);
  const suppressions = rows.map((row) => found(SHOWN.suppression, row.id, `Suppression of ${text}`));
  const received = [inboundBy(searching, 'from', 'Inbound mail from'), inboundBy(searching, 'to', 'Inbound mail to')];
  return [...(await Promise.all([...lists, ...received])).flat(), ...suppressions];
};

const CODE = /^(?:[2-5]\d\d)?(?: ?[245]\.\d{1,3}\.\d{1,3})?$/;
const REQUEST = /^req_[0-9a-f]{32}$/;
const RECIPIENT_DOMAIN = /^[^\s@]+\.[^\s@.]+$/;

const refusedRequest = async ({ text, caller, route }: SearchContext): SearchResults => {
  if (!REQUEST.test(text)) return [];
  const { readModels, refusedRequests } = route.deps;
  const refused = await readModels.inShareOf(caller.organizationId, () => refusedRequests.find(scopeOf(caller), text));
  return refused === null ? [] : [{ type: 'request', id: text, title: refused.code, path: `/v1/requests/${text}` }];
};

const byShape = async (searching: SearchContext): SearchResults => {
  const { text } = searching;
  if (CODE.test(text)) return messagesBy(searching, 'smtp_code', 'Messages refused with');
  if (REQUEST.test(text)) return messagesBy(searching, 'request_id', 'Messages of');
  if (RECIPIENT_DOMAIN.test(text)) return messagesBy(searching, 'recipient_domain', 'Messages to anyone at');
  return [];
};

/** Finds tags by the beginning of `name:value` in the last days. A complete tag is found regardless of age. */
const byTag = async (searching: SearchContext): SearchResults => {
  const { text, within, route } = searching;
  const { context, readModels } = route.deps;
  const heads = await context.contents.heads(await readModels.search.recentTagContents(within));
  const tags = [...heads.values()].flatMap((head) => (head.kind === 'message' ? head.tags : []));
  const begun = new Set(
    tags.map(({ name, value }) => `${name}:${value}`).filter((tag) => tag.toLowerCase().startsWith(text.toLowerCase())),
  );
  const recent = [...begun]
    .toSorted()
    .slice(0, OF_KIND_MAX)
    .map((tag) => ({ ...searching, text: tag }));
  const all = begun.has(text) ? recent : [searching, ...recent];
  return (await Promise.all(all.map((one) => messagesBy(one, 'tag', 'Messages tagged')))).flat();
};

const bySubject = (searching: SearchContext): SearchResults =>
  messagesBy(searching, 'subject', 'Messages with the words');

/** Best first. */
const BY_ID = [messageById, inboundById, eventById, resourcesById, memberById, deliveryById];
const OPEN = [refusedRequest, byShape, resourcesByName];
/** Searches that reveal message contents. They run only for callers who may see contents. */
const BY_CONTENTS = [byAddress, byTag, bySubject];

const ID = /^<?[a-z]{3}_[a-z2-7]{26}/;

const search = async (searching: SearchContext): Promise<readonly SerializedSearchResult[]> => {
  const sources = ID.test(searching.text) ? BY_ID : [...OPEN, ...(seesContents(searching.caller) ? BY_CONTENTS : [])];
  const hits = (await Promise.all(sources.map((source) => source(searching)))).flat();
  const distinct = new Map(hits.map((hit) => [hit.path, hit]));
  return [...distinct.values()].slice(0, RESULTS_MAX).map((hit) => ({ ...hit, message: hit.message ?? null }));
};

/** Read models of everything that is searched. */
const SEARCHED: readonly ProjectionName[] = [
  'api-keys',
  'domains',
  'templates',
  'webhooks',
  'topics',
  'inbound',
  'inbound-routes',
  'suppressions',
  'erasures',
  'messages',
  'events',
  'stats',
];

const DESCRIPTION = `Finds resources by id, address, \`Message-ID\`, request id, SMTP code, recipient domain, words of the subject, tag, or the
beginning of a name (API key, domain, template, topic) or of a webhook URL. Returns at most ${RESULTS_MAX} results, the best
match first, and only what you may read. If you may not see mail contents, you cannot search by address, subject or tag.
Changes of the last moments may be missing.`;

export const searchRoute = endpoint(
  'GET /v1/search',
  {
    summary: 'Search',
    description: DESCRIPTION,
    query: z.strictObject({ q: line(QUERY_CHARACTERS_MAX).describe('Text to search for.') }),
    answer: listSchema(foundSchema),
    etag: false,
  },
  async ({ caller, query: { q } }, route) => {
    const text = q.trim();
    const { organizationId, environment } = caller;
    const searching = { route, caller, text, within: { organizationId, environments: [environment] } };
    if (text === '') return listOf([], false, null);
    await readRecent(route.deps, SEARCHED);
    return listOf(await search(searching), false, null);
  },
);
