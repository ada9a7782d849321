import type { EventCodec } from '../../domain/kernel/codec.ts';
import {
  type EventStore,
  type Filter,
  type FollowedPage,
  heldBytes,
  LOG_START,
  type Page,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
} from '../../domain/kernel/event-store.ts';
import type { Connection } from './eventstoredb-client.ts';
import { readFault } from './eventstoredb-faults.ts';
import {
  type Bounds,
  collect,
  eventsOf,
  isFull,
  openFeed,
  positionOf,
  trustsCheckpoints,
} from './eventstoredb-feed.ts';
import type { RawEvent } from './eventstoredb-protocol-read.ts';
import type { Reader } from './eventstoredb-read.ts';
import { matches, recordedEvent } from './eventstoredb-records.ts';

/** Size of a page: the amount held at once. */
const PAGE: Bounds = { events: 500, bytes: 1024 * 1024 };
/** A feed that has been silent for this long since it caught up is compared with the log's head. */
const QUIET_MS = 100;
/** Events read in one go if the feed was silent and the log grew. Larger than the distance between two checkpoints. */
const SWEEP_EVENTS = 500;

export interface Searched {
  readonly connection: Connection;
  readonly reader: Reader;
  readonly codec: EventCodec;
}

const pageOf = (codec: EventCodec, filter: Filter, events: readonly RawEvent[], position: Position): Page => ({
  events: events.filter((event) => matches(filter, event)).map((event) => recordedEvent(codec, event)),
  position,
});

/** Highest position. A checkpoint may name one before that of the events that came with it. */
const lastOf = (positions: readonly Position[]): Position => positions.toSorted().at(-1) ?? LOG_START;

/** A server that does not report its version is not trusted. */
const isCheckpointTrusted = async ({ serverVersion }: Connection): Promise<boolean> => {
  try {
    return trustsCheckpoints(await serverVersion());
  } catch {
    return false;
  }
};

/**
 * Pages of a search strictly after the position, until the signal aborts or the connection fails. Followers of the log
 * share one subscription instead (`eventstoredb-tail.ts`).
 * @throws the error that ended the client's subscription, which never recovers.
 */
async function* follow(
  { connection, reader, codec }: Searched,
  after: Position,
  filter: Filter,
  signal: AbortSignal,
): AsyncGenerator<FollowedPage> {
  // A subscription beyond the end of the log would be silent forever, or see wrong events.
  const isReached = after === LOG_START ? undefined : reader.after(after, 0);
  const [trusted] = await Promise.all([isCheckpointTrusted(connection), isReached]);
  const feed = await openFeed(connection, { after, filter, signal, trusted });

  const arrived = async (position: Position): Promise<FollowedPage | undefined> => {
    const items = await collect(feed, position, PAGE);
    if (items.length === 0) return undefined;
    const page = pageOf(codec, filter, eventsOf(items), lastOf(items.map(positionOf)));
    return { ...page, isFull: isFull(items, PAGE) };
  };

  const swept = async (position: Position): Promise<FollowedPage | undefined> => {
    if ((await reader.head()) <= position) return undefined;
    const events = await reader.after(position, SWEEP_EVENTS);
    const last = events.at(-1);
    return last && { ...pageOf(codec, filter, events, last.position), isFull: events.length === SWEEP_EVENTS };
  };

  const waited = async (position: Position): Promise<FollowedPage | undefined> => {
    feed.assertAlive();
    const started = connection.system.monotonicMs();
    await feed.arrival(QUIET_MS);
    const isQuiet = connection.system.monotonicMs() - started >= QUIET_MS - 1 && !signal.aborted;
    // If the server is still searching, a second search of the same events does not help.
    return isQuiet && feed.isCaughtUp() ? swept(position) : undefined;
  };

  try {
    let position = after;
    while (!signal.aborted) {
      const page = (await arrived(position)) ?? (await waited(position));
      if (page !== undefined) {
        position = page.position;
        yield page;
      }
    }
  } finally {
    feed.close();
  }
}

/** The category of nearly every event. Reading all events is faster than searching for this category. */
const BULK_CATEGORY = 'message';
/**
 * Events read and filtered here before the server is asked to search. Fewer opens a subscription for a few hundred
 * events on every further page; more transfers unwanted events.
 */
const NEAR_EVENTS_MAX = 2000;

export const isBesideMessages = (filter: Filter | undefined): boolean =>
  filter?.categories?.includes(BULK_CATEGORY) === false;

const isSelective = ({ direction = 'forwards', filter, limit }: ReadAllOptions): boolean =>
  direction === 'forwards' && limit > 0 && isBesideMessages(filter);

interface Search {
  readonly filter: Filter;
  readonly limit: number;
  /** Bytes of data. Pages are small, so the limit is checked after each. */
  readonly bytesMax: number | undefined;
  /** Ends the search, like closing the store does. */
  readonly signal: AbortSignal;
}

const earlier = (a: Position, b: Position): Position => (a < b ? a : b);

/**
 * Reads of the whole log. The client's read accepts no filter, so a caller that wants a few events would receive all.
 * Events further ahead are therefore searched by the server, in a subscription that ends at the head. If the server's
 * checkpoints cannot be trusted, the progress of its search is unknown, and everything is read.
 */
export const createReadAll = (searched: Searched): EventStore['readAll'] => {
  const { connection, reader } = searched;

  /** Finds at least `limit` events after `from`, or all up to the head, or up to where the search was ended. */
  const find = async (from: Position, head: Position, options: Search): Promise<Page> => {
    const { filter, limit, bytesMax = Number.POSITIVE_INFINITY, signal } = options;
    const events: RecordedEvent[] = [];
    const bytes = (): number => events.reduce((sum, event) => sum + heldBytes(event), 0);
    let reached = from;
    for await (const page of follow(searched, from, filter, signal)) {
      events.push(...page.events.filter((event) => event.position <= head));
      reached = earlier(page.position, head);
      if (events.length >= limit || reached === head || bytes() >= bytesMax) break;
    }
    connection.assertOpen(); // otherwise it may have ended early
    return { events, position: reached };
  };

  /** Finds up to `limit` events after `from`, up to the current head. */
  const search = async (from: Position, options: Search): Promise<Page> => {
    const head = await reader.head();
    if (head <= from) return { events: [], position: from };
    const { events, position } = await find(from, head, options);
    const last = events[options.limit - 1];
    return { events: events.slice(0, options.limit), position: last?.position ?? position };
  };

  const readSelected = async (options: ReadAllOptions): Promise<Page> => {
    const { from = LOG_START, filter = {}, limit, bytesMax, signal } = options;
    const bounds = { limit, lookMax: NEAR_EVENTS_MAX, bytesMax, signal };
    const { isComplete, ...near } = await reader.forwards(from, filter, bounds);
    if (isComplete || signal?.aborted === true) return near;
    try {
      const ending = AbortSignal.any([connection.closing, ...(signal === undefined ? [] : [signal])]);
      const more = { filter, limit: limit - near.events.length, bytesMax, signal: ending };
      const far = await search(near.position, more);
      return { events: [...near.events, ...far.events], position: far.position };
    } catch (error) {
      throw readFault(error, connection.hosts);
    }
  };

  return async (options) =>
    isSelective(options) && (await isCheckpointTrusted(connection)) ? readSelected(options) : reader.readAll(options);
};
