import type { CustomerEventFacts, CustomerEventType } from '../../domain/customer-events/customer-event-types.ts';
import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import { LOG_START, type Position } from '../../domain/kernel/event-store.ts';
import { type Database, rowsToAsk } from '../../lib/projections/projections.ts';

/** Stands for live and test in the column `environment`, where an index could not find null. */
export const BOTH_ENVIRONMENTS = 'both';

/** A place in the feed: after this event. */
export interface FeedCursor {
  readonly position: Position;
  /** Number of the customer event among those of one log event. */
  readonly index: number;
}

/** Whether a place is behind another. */
export const isAfter = (one: FeedCursor, other: FeedCursor): boolean =>
  one.position === other.position ? one.index > other.index : one.position > other.position;

/** Customer events of one log event are fewer. */
const INDEX_MAX = 9_999;

/** After all customer events of a log event. */
export const afterAllOf = (position: Position): FeedCursor => ({ position, index: INDEX_MAX });

/** No position is behind it: positions are digits and capital letters. */
const FEED_END = afterAllOf('~');

/** Before the first event. */
export const FEED_START: FeedCursor = { position: LOG_START, index: 0 };

/** Positions are numbers of one width: hexadecimal where they are as wide as EventStoreDB's, else decimal. */
const HEXADECIMAL_WIDTH = 32;
const numberOf = (position: Position): bigint =>
  BigInt(position.length === HEXADECIMAL_WIDTH ? `0x${position}` : position);
const positionAt = (number: bigint, { length }: Position): Position =>
  number.toString(length === HEXADECIMAL_WIDTH ? 16 : 10).padStart(length, '0');

/** No event stands between it and a position. */
export const positionBefore = (position: Position): Position => {
  const number = numberOf(position);
  return number === 0n ? LOG_START : positionAt(number - 1n, position);
};

export interface FeedEvent extends CustomerEvent {
  readonly cursor: FeedCursor;
  /** The sending domain it concerns; null: none. */
  readonly domainId: string | null;
}

export interface ReadFeed {
  readonly organizationId: string;
  /** Events that concern both environments are in both feeds. */
  readonly environment: Environment;
  /** The only visible domain of the key; null: all. */
  readonly domainId: string | null;
  /** null: all. */
  readonly types: readonly CustomerEventType[] | null;
  /** null: the newest page. */
  readonly after: FeedCursor | null;
  /** The last place of the feed to read. Absent: none is. */
  readonly until?: FeedCursor | undefined;
  readonly limit: number;
}

export interface FeedPage {
  /** Oldest first. */
  readonly items: readonly FeedEvent[];
  /** There are events after `next`. Never for the newest page. */
  readonly hasMore: boolean;
  /** Pass as `after` to continue from here. */
  readonly next: FeedCursor;
}

interface Row {
  readonly position: Position;
  readonly item: number;
  readonly event_id: string;
  readonly type: CustomerEventType;
  readonly environment: string;
  readonly subject_id: string;
  readonly sequence: number;
  readonly domain_id: string | null;
  readonly recipient_id: string | null;
  readonly content_id: string | null;
  readonly facts: CustomerEventFacts;
  readonly occurred_at: Date;
}

type Along = 'environment' | 'domain' | 'type';

const NARROWED: Readonly<Record<Along, string>> = {
  environment: '',
  domain: 'and c.domain_id = $8 and ($9::text[] is null or c.type = any($9))',
  type: 'and c.type = t.type',
};

/** One probe of an index per environment (and type), so that a rare one is found without reading the others. */
const feed = (along: Along, order: 'asc' | 'desc'): string => `
  select e.* from unnest($2::text[]) f(environment)
  ${along === 'type' ? 'cross join unnest($8::text[]) t(type)' : ''}
  cross join lateral (
    select c.position, c.item, c.event_id, c.type, c.environment, c.subject_id, c.sequence, c.recipient_id,
      c.content_id, c.domain_id, c.facts, c.occurred_at
    from read_models.customer_events c
    where c.organization_id = $1 and c.environment = f.environment ${NARROWED[along]}
      and ($3::text is null or (c.position, c.item) > ($3, $4::smallint)) and (c.position, c.item) <= ($5, $6::smallint)
    order by c.position ${order}, c.item ${order}
    limit $7
  ) e
  order by e.position ${order}, e.item ${order}
  limit $7`;

const fromRow = (row: Row, organizationId: string): FeedEvent => ({
  id: row.event_id,
  type: row.type,
  timestamp: row.occurred_at.toISOString(),
  organizationId,
  environment: row.environment === BOTH_ENVIRONMENTS ? null : (row.environment as Environment), // written by `projection.ts`
  subjectId: row.subject_id,
  sequence: row.sequence,
  recipientId: row.recipient_id,
  contentId: row.content_id,
  facts: row.facts,
  domainId: row.domain_id,
  cursor: { position: row.position, index: row.item },
});

/** The index to read along, and the additional parameters that it needs. */
const alongOf = ({ domainId, types }: ReadFeed): { readonly along: Along; readonly more: readonly unknown[] } => {
  if (domainId !== null) return { along: 'domain', more: [domainId, types] };
  return types === null ? { along: 'environment', more: [] } : { along: 'type', more: [types] };
};

/** A page of the feed: the events after `after`, or the newest. */
export const readFeed = async (db: Database, by: ReadFeed): Promise<FeedPage> => {
  const { organizationId, environment, after, until = FEED_END, limit } = by;
  const { along, more } = alongOf(by);
  const order = after === null ? 'desc' : 'asc';
  const { rows } = await db.query<Row>({
    name: `read-feed-${along}-${order}`,
    text: feed(along, order),
    values: [
      organizationId,
      [environment, BOTH_ENVIRONMENTS],
      after?.position ?? null,
      after?.index ?? 0,
      until.position,
      until.index,
      rowsToAsk(limit),
      ...more,
    ],
  });
  const kept = rows.slice(0, rowsToAsk(limit) - 1).map((row) => fromRow(row, organizationId));
  const items = after === null ? kept.toReversed() : kept;
  return {
    items,
    hasMore: after !== null && rows.length > kept.length,
    next: items.at(-1)?.cursor ?? after ?? FEED_START,
  };
};

/** Suits organizations with few new events: one index probe per organization and environment. */
const NEW_EVENTS = `
  select o.id as organization_id, e.* from unnest($1::text[]) o(id)
  cross join unnest(array['live', 'test', '${BOTH_ENVIRONMENTS}']) f(environment)
  cross join lateral (
    select c.position, c.item, c.event_id, c.type, c.environment, c.domain_id, c.subject_id, c.sequence, c.recipient_id,
      c.content_id, c.facts, c.occurred_at
    from read_models.customer_events c
    where c.organization_id = o.id and c.environment = f.environment and c.position > $2 and c.position <= $3
  ) e
  order by e.position, e.item`;

export interface ReadNewEvents {
  readonly organizationIds: readonly string[];
  readonly after: Position;
  readonly upTo: Position;
}

/** Events of several organizations' feeds between two log positions, oldest first. The page of the log bounds their number. */
export const readNewEvents = async (
  db: Database,
  { organizationIds, after, upTo }: ReadNewEvents,
): Promise<readonly FeedEvent[]> => {
  const { rows } = await db.query<Row & { readonly organization_id: string }>({
    name: 'read-new-events',
    text: NEW_EVENTS,
    values: [organizationIds, after, upTo],
  });
  return rows.map((row) => fromRow(row, row.organization_id));
};

const FIRST_FROM = `
  select e.* from unnest($2::text[]) f(environment)
  cross join lateral (
    select c.position, c.occurred_at from read_models.customer_events c
    where c.organization_id = $1 and c.environment = f.environment and c.position >= $3
    order by c.position limit 1
  ) e
  order by e.position limit 1`;

/** Clocks of appending processes differ: an event may follow one that is later by up to this much. */
const CLOCKS_DIFFER_MS = 60_000;

export interface PlaceAt extends Pick<ReadFeed, 'organizationId' | 'environment'> {
  readonly at: Date;
  readonly head: Position;
}

/** A place before the first event of a time, by halving the log: some 40 probes of an index, however long it is. */
export const placeAt = async (
  db: Database,
  { organizationId, environment, at, head }: PlaceAt,
): Promise<FeedCursor> => {
  const wantedMs = at.getTime() - CLOCKS_DIFFER_MS;
  let low = 0n;
  let high = head === LOG_START ? 0n : numberOf(head);
  while (low < high) {
    const middle = (low + high) / 2n;
    const { rows } = await db.query<Pick<Row, 'position' | 'occurred_at'>>({
      name: 'first-event-from',
      text: FIRST_FROM,
      values: [organizationId, [environment, BOTH_ENVIRONMENTS], positionAt(middle, head)],
    });
    const [found] = rows;
    if (found === undefined || found.occurred_at.getTime() >= wantedMs) high = middle;
    else low = numberOf(found.position) + 1n;
  }
  return low === 0n ? FEED_START : { position: positionAt(low - 1n, head), index: 0 };
};
