import { z } from 'zod';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { CUSTOMER_EVENT_TYPES, type CustomerEventType } from '../../../domain/customer-events/customer-event-types.ts';
import { LOG_START, type Position } from '../../../domain/kernel/event-store.ts';
import type { BilledDays } from '../../../projections/billing.ts';
import {
  FEED_START,
  type FeedCursor,
  type FeedEvent,
  isAfter,
  type ReadFeed,
} from '../../../projections/events/queries.ts';
import type { ReadModels } from '../../../projections/read-models.ts';
import { visibleDomainId } from '../../auth/permissions.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { idParameter, recipientDomain } from '../../fields.ts';
import { decodeParts, encodeParts, invalidCursor, readYourWrites } from '../../reading.ts';
import { type SerializedEvent, serializeEvents } from './serialize-events.ts';

/** Filters of the feed, the same for pages and for streams. */

const ANY = '.*';
const FAMILIES: ReadonlySet<string> = new Set(CUSTOMER_EVENT_TYPES.map((type) => type.slice(0, type.indexOf('.'))));
const TYPES: ReadonlySet<string> = new Set(CUSTOMER_EVENT_TYPES);
/** Longer than all types and families together. */
const TYPES_CHARACTERS_MAX = 4_000;

const isFamily = (text: string): boolean => text.endsWith(ANY) && FAMILIES.has(text.slice(0, -ANY.length));

const typesOf = (text: string): readonly CustomerEventType[] => {
  const asked = new Set(text.split(','));
  return CUSTOMER_EVENT_TYPES.filter((type) => asked.has(type) || asked.has(type.slice(0, type.indexOf('.')) + ANY));
};

export const filterParameters = {
  types: z
    .string()
    .max(TYPES_CHARACTERS_MAX)
    .refine(
      (text) => text.split(',').every((one) => TYPES.has(one) || isFamily(one)),
      `must be a list, separated by commas, of ${CUSTOMER_EVENT_TYPES.join(', ')}, or of families such as message.*`,
    )
    .transform(typesOf)
    .optional()
    .describe('Event types, or families such as `message.*`, separated by commas. Default: all.'),
  message_id: idParameter('message').describe('Only events of this message.'),
  domain_id: idParameter('domain').describe('Only events of this sending domain and of its messages.'),
  tag: z.string().min(1).max(300).optional().describe('Only events of messages with this tag: `order:1234`.'),
  recipient_domain: recipientDomain().optional().describe('Only events of recipients at this domain.'),
};

export type EventFilters = {
  readonly [Name in keyof typeof filterParameters]?: z.output<(typeof filterParameters)[Name]>;
};

type Holds = (event: SerializedEvent) => boolean;

const hasTag = (tag: string): Holds => {
  return ({ data }) => data.tags?.some(({ name, value }) => tag === `${name}:${value}`) ?? false;
};

const isAt = (domain: string): Holds => {
  const end = `@${domain}`;
  return ({ data }) => data.recipient?.address?.toLowerCase().endsWith(end) ?? false;
};

/**
 * Filters that no index supports; null if the request has none. Tags and addresses are removed when the contents of a
 * message expire, and its events then match no such filter.
 */
export const furtherFilter = ({ message_id, tag, recipient_domain }: EventFilters): Holds | null => {
  const all: Holds[] = [];
  if (message_id !== undefined) all.push(({ data }) => data.message_id === message_id);
  if (tag !== undefined) all.push(hasTag(tag));
  if (recipient_domain !== undefined) all.push(isAt(recipient_domain));
  return all.length === 0 ? null : (event) => all.every((holds) => holds(event));
};

/** Cursors of the feed, and its pages as the read model has them. Pages and streams share both. */

const LIST = 'events';
/** In place of a cursor: before the first event. Not a valid cursor itself. */
export const START = 'start';
const POSITION = /^[0-9A-Za-z:._-]{0,64}$/;
const INDEX = /^(?:0|[1-9]\d{0,3})$/;

/** Events looked through for one page by a filter that no index serves. More: a slower answer. Fewer: emptier pages. */
const SCANNED_MAX = 1_000;
const SCAN_PAGE = 250;

export const encodeFeedCursor = ({ position, index }: FeedCursor): string =>
  encodeParts([LIST, position, String(index)]);

/** @returns null: the newest. @throws {DomainError} `invalid_cursor`. */
export const decodeFeedCursor = (cursor: string | undefined, field?: string): FeedCursor | null => {
  if (cursor === undefined) return null;
  if (cursor === START) return FEED_START;
  const [list, position = '', index = ''] = decodeParts(cursor, 3, field);
  if (list !== LIST || !POSITION.test(position) || !INDEX.test(index)) throw invalidCursor(field);
  return { position, index: Number(index) };
};

/** Whether a cursor may have been issued: positions have one width and are not beyond the log's head. */
const isIssued = ({ position, index }: FeedCursor, head: Position): boolean =>
  position === LOG_START ? index === 0 : position.length === head.length && position <= head;

/** @throws {DomainError} `invalid_cursor`. */
export const issuedCursor = (after: string, head: Position): FeedCursor => {
  const cursor = decodeFeedCursor(after);
  if (cursor === null || !isIssued(cursor, head)) throw invalidCursor();
  return cursor;
};

/** @throws {DomainError} `invalid_cursor`. */
const requireIssued = ({ after, until }: Pick<ReadPage, 'after' | 'until'>, head: Position): void => {
  if (after !== null && !isIssued(after, head)) throw invalidCursor();
  if (until !== undefined && !isIssued(until, head)) throw invalidCursor('until');
};

interface ReadPage {
  readonly caller: Caller;
  readonly filters: EventFilters;
  /** Only events of messages that are billed for these days (UTC). Absent: all events. */
  readonly billed?: BilledDays | undefined;
  /** null: the newest page. */
  readonly after: FeedCursor | null;
  /** The last place of the feed to read. */
  readonly until?: FeedCursor | undefined;
  readonly limit: number;
}

export interface EventPage {
  readonly items: readonly ShownEvent[];
  /** There is more behind `next`: perhaps nothing that matches the filters. */
  readonly hasMore: boolean;
  readonly next: FeedCursor;
  /** The log ended here at the time. */
  readonly head: Position;
}

interface ShownEvent {
  readonly cursor: FeedCursor;
  readonly event: SerializedEvent;
}

/** Matches no domain. */
const NO_DOMAIN = '';

/** The domain to read along; null: all. A key that is confined to its own sees nothing of another. */
export const domainToRead = (caller: Caller, asked: string | undefined): string | null => {
  const visible = visibleDomainId(caller);
  if (visible === null) return asked ?? null;
  return asked === undefined || asked === visible ? visible : NO_DOMAIN;
};

type Page = Omit<EventPage, 'head'>;
type ReadRows = (after: FeedCursor | null, rows: number) => Promise<Page>;
type Matches = (event: SerializedEvent) => boolean;

/** The newest that match among the newest. */
const newestMatching = async (readRows: ReadRows, matches: Matches, limit: number): Promise<Page> => {
  const page = await readRows(null, SCANNED_MAX);
  return { ...page, items: page.items.filter(({ event }) => matches(event)).slice(-limit) };
};

/** The next that match, until the page is full or enough has been looked through. */
const nextMatching = async (
  readRows: ReadRows,
  matches: Matches,
  { after, limit }: { readonly after: FeedCursor; readonly limit: number },
): Promise<Page> => {
  const found: ShownEvent[] = [];
  let page: Page = { items: [], hasMore: true, next: after };
  for (let scanned = 0; page.hasMore && scanned < SCANNED_MAX && found.length < limit; scanned += SCAN_PAGE) {
    page = await readRows(page.next, SCAN_PAGE);
    found.push(...page.items.filter(({ event }) => matches(event)));
  }
  const last = found[limit - 1];
  if (last === undefined) return { ...page, items: found };
  return { items: found.slice(0, limit), hasMore: page.hasMore || isAfter(page.next, last.cursor), next: last.cursor };
};

/** Those of messages that are billed for these days. */
const onlyBilled = async (
  { billing }: ReadModels,
  organizationId: string,
  { items, days }: { readonly items: readonly FeedEvent[]; readonly days: BilledDays | undefined },
): Promise<readonly FeedEvent[]> => {
  if (days === undefined) return items;
  const messageIds = [...new Set(items.map(({ subjectId }) => subjectId))];
  const found = await billing.billedOn({ ...days, organizationId, messageIds });
  return items.filter(({ subjectId }) => found.has(subjectId));
};

/** @throws {DomainError} `invalid_cursor`; `unavailable` while the read model lags. */
export const readEventPage = async (
  deps: Pick<HttpDependencies, 'context' | 'readModels'>,
  { caller, filters, billed, after, until, limit }: ReadPage,
): Promise<EventPage> => {
  const head = await readYourWrites(deps, billed ? ['events', 'billing'] : ['events']);
  requireIssued({ after, until }, head);
  const by: Omit<ReadFeed, 'after' | 'limit'> = {
    organizationId: caller.organizationId,
    environment: caller.environment,
    domainId: domainToRead(caller, filters.domain_id),
    types: filters.types ?? null,
    until,
  };

  const readRows: ReadRows = async (from, rows) => {
    const page = await deps.readModels.events.page({ ...by, after: from, limit: rows });
    const { hasMore, next } = page;
    const items = await onlyBilled(deps.readModels, caller.organizationId, { items: page.items, days: billed });
    const events = await serializeEvents(deps.context.contents, items);
    const shown = items.map(({ cursor }, index) => ({ cursor, event: events[index] as SerializedEvent }));
    return { items: shown, hasMore, next };
  };

  const matches = furtherFilter(filters) ?? (billed && (() => true));
  if (!matches) return { ...(await readRows(after, limit)), head };
  if (after === null) return { ...(await newestMatching(readRows, matches, limit)), head };
  return { ...(await nextMatching(readRows, matches, { after, limit })), head };
};
