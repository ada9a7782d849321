import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventCodec } from '../../domain/codec.ts';
import { type Filter, type FollowedPage, LOG_START, type Page, type Position } from '../../domain/event-store.ts';
import { internalsOf } from './eventstoredb-client-internals.ts';
import type { Connection } from './eventstoredb-connection.ts';
import { type Feed, type Item, openFeed, trustsCheckpoints } from './eventstoredb-feed.ts';
import { bytesBetween } from './eventstoredb-position.ts';
import type { Reader } from './eventstoredb-read.ts';
import { matches, type RawEvent, recordedEvent } from './eventstoredb-records.ts';
import { withTimeOut } from './eventstoredb-time-out.ts';

/** Events in a page: what a slow consumer holds, and what a consumer can handle in one transaction. */
const PAGE_EVENTS_MAX = 500;
/** Bytes of the log in a page (positions count bytes): many large events would otherwise be held at once. */
const PAGE_BYTES_MAX = 1024 * 1024;
/**
 * A feed that brought nothing for this long is compared with the log's head. The server says nothing of events that are
 * filtered out until many have gone by, and nothing at all when it is silently gone. Longer delays whoever waits for a
 * follower to pass the head; shorter costs idle reads.
 */
const QUIET_MS = 100;
/** Events looked at in one go where the feed was quiet and the log went on; above what lies between two checkpoints. */
const SWEEP_EVENTS = 500;

export interface Followed {
  readonly connection: Connection;
  readonly reader: Reader;
  readonly codec: EventCodec;
  /** The log's head, as it was at most a moment ago. */
  recentHead(): Promise<Position>;
}

const positionOf = (item: Item): Position => ('event' in item ? item.event.position : item.checkpoint);

const isFull = (items: readonly Item[]): boolean => {
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return false;
  return items.length >= PAGE_EVENTS_MAX || bytesBetween(positionOf(first), positionOf(last)) >= PAGE_BYTES_MAX;
};

/** What has arrived from beyond the position, until nothing more does or the page is full. */
const gather = async (feed: Feed, after: Position): Promise<readonly Item[]> => {
  const items: Item[] = [];
  const takeAll = (): number => {
    const before = items.length;
    while (!isFull(items)) {
      const item = feed.take();
      if (item === undefined) break;
      if (positionOf(item) > after) items.push(item); // a sweep may have been there before
    }
    return items.length - before;
  };
  while (takeAll() > 0 && !isFull(items)) await nextTurn();
  return items;
};

const eventsOf = (items: readonly Item[]): readonly RawEvent[] =>
  items.flatMap((item) => ('event' in item ? [item.event] : []));

const pageOf = (codec: EventCodec, filter: Filter, events: readonly RawEvent[], position: Position): Page => ({
  events: events.filter((event) => matches(filter, event)).map((event) => recordedEvent(codec, event)),
  position,
});

/** Highest position: a checkpoint may name one before that of the events that came with it. */
const lastOf = (positions: readonly Position[]): Position => positions.toSorted().at(-1) ?? LOG_START;

/** A server that does not say what it is is not trusted. */
export const isCheckpointTrusted = async ({ client, timeOut }: Connection): Promise<boolean> => {
  try {
    const features = await withTimeOut(timeOut, internalsOf(client).capabilities);
    return trustsCheckpoints(features.serverVersion);
  } catch {
    return false;
  }
};

/**
 * Pages from strictly after the position, until the signal aborts or the connection fails.
 * @throws what ended the client's subscription, which never comes back by itself.
 */
export async function* follow(
  { connection, reader, codec, recentHead }: Followed,
  after: Position,
  filter: Filter,
  signal: AbortSignal,
): AsyncGenerator<FollowedPage> {
  // A subscription beyond the end of the log would be silent for ever, or see wrong events.
  const isReached = after === LOG_START ? undefined : reader.after(after, 0);
  const [trusted] = await Promise.all([isCheckpointTrusted(connection), isReached]);
  const feed = await openFeed(connection, { after, filter, signal, trusted });

  const arrived = async (position: Position): Promise<FollowedPage | undefined> => {
    const items = await gather(feed, position);
    if (items.length === 0) return undefined;
    const page = pageOf(codec, filter, eventsOf(items), lastOf(items.map(positionOf)));
    return { ...page, isFull: isFull(items) };
  };

  const swept = async (position: Position): Promise<FollowedPage | undefined> => {
    if ((await recentHead()) <= position) return undefined;
    const events = await reader.after(position, SWEEP_EVENTS);
    const last = events.at(-1);
    return last && { ...pageOf(codec, filter, events, last.position), isFull: events.length === SWEEP_EVENTS };
  };

  const waited = async (position: Position): Promise<FollowedPage | undefined> => {
    feed.assertAlive();
    const started = connection.system.monotonicMs();
    await feed.arrival(QUIET_MS);
    const isQuiet = connection.system.monotonicMs() - started >= QUIET_MS - 1 && !signal.aborted;
    return isQuiet ? swept(position) : undefined;
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
