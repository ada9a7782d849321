import { z } from 'zod';
import { isId, timeInId } from '../../domain/kernel/ids.ts';
import { seesContents, visibleDomainId } from '../auth/permissions.ts';
import { endpoint } from '../endpoint.ts';
import { listOf, listSchema } from '../schemas/envelope.ts';
import { foundSchema } from '../schemas/search.ts';
import { line } from '../validation/fields.ts';
import { findMessages, messageFilters } from './messages/find-messages.ts';
import { scopeOf } from './refused-requests.ts';
import {
  deliveryById,
  found,
  memberById,
  OF_KIND_MAX,
  resourcesById,
  resourcesByName,
  type SearchContext,
  type SearchResults,
  SHOWN,
  suppressionById,
} from './search-resources.ts';
import { idOfAddress } from './suppressions/suppressions.ts';

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
  return [{ type: 'message', id, title, path: `/v1/messages/${id}` }];
};

/** API path of the resource that an event concerns. */
const pathOfEvent = (type: string, subjectId: string): string => {
  if (isId('msg', subjectId)) return `/v1/messages/${subjectId}/events`;
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
  return [{ type: 'event', id: text, title: event.type, path: pathOfEvent(event.type, event.subjectId) }];
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

const ADDRESS = /^[^\s@]+@[^\s@]+$/;

/** Only for callers who may see addresses. */
const byAddress = async (searching: SearchContext): SearchResults => {
  const { text, caller, route } = searching;
  if (!ADDRESS.test(text) || text.startsWith('msg_')) return [];
  const lists = [messagesBy(searching, 'to', 'Messages to'), messagesBy(searching, 'from', 'Messages from')];
  const id = await idOfAddress(route.deps, caller, text);
  const rows = id === null ? [] : await suppressionById(searching, id);
  const suppressions = rows.map((row) => found(SHOWN.suppression, row.id, `Suppression of ${text}`));
  return [...(await Promise.all(lists)).flat(), ...suppressions];
};

const CODE = /^(?:[2-5]\d\d)?(?: ?[245]\.\d{1,3}\.\d{1,3})?$/;
const REQUEST = /^req_[0-9a-f]{32}$/;
const RECIPIENT_DOMAIN = /^[^\s@]+\.[^\s@.]+$/;

const refusedRequest = async ({ text, caller, route }: SearchContext): SearchResults => {
  const refused = REQUEST.test(text) ? await route.deps.refusedRequests.find(scopeOf(caller), text) : null;
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
const BY_ID = [messageById, eventById, resourcesById, memberById, deliveryById];
const OPEN = [refusedRequest, byShape, resourcesByName];
/** Searches that reveal message contents. They run only for callers who may see contents. */
const BY_CONTENTS = [byAddress, byTag, bySubject];

const ID = /^<?[a-z]{3}_[a-z2-7]{26}/;

const search = async (searching: SearchContext): SearchResults => {
  const sources = ID.test(searching.text) ? BY_ID : [...OPEN, ...(seesContents(searching.caller) ? BY_CONTENTS : [])];
  const hits = (await Promise.all(sources.map((source) => source(searching)))).flat();
  const distinct = new Map(hits.map((hit) => [hit.path, hit]));
  return [...distinct.values()].slice(0, RESULTS_MAX);
};

const DESCRIPTION = `Searches ids, addresses, \`Message-ID\`s, request ids, SMTP codes, recipient domains, words of subjects, tags, and the
beginnings of names of API keys, domains, templates and topics and of webhook URLs. Returns at most ${RESULTS_MAX} results,
best first, and only resources that the caller may read. Callers who may not see contents of mail cannot search by address,
subject or tag. Very recent changes may be missing.`;

export const searchRoute = endpoint(
  'GET /v1/search',
  {
    summary: 'Find what an id, an address, a code or the beginning of a name leads to',
    description: DESCRIPTION,
    query: z.strictObject({ q: line(QUERY_CHARACTERS_MAX).describe('Text to search for.') }),
    answer: listSchema(foundSchema),
    etag: false,
  },
  async ({ caller, query: { q } }, route) => {
    const text = q.trim();
    const { organizationId, environment } = caller;
    const searching = { route, caller, text, within: { organizationId, environments: [environment] } };
    return listOf(text === '' ? [] : await search(searching), false, null);
  },
);
