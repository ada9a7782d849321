import type { EventCodec } from '../../domain/codec.ts';
import { type Filter, type FollowedPage, LOG_START, type Page, type Position } from '../../domain/ports/event-store.ts';
import { internalsOf } from './eventstoredb-client-internals.ts';
import type { Connection } from './eventstoredb-connection.ts';
import { type Bounds, eventsOf, gather, isFull, openFeed, positionOf, trustsCheckpoints } from './eventstoredb-feed.ts';
import type { Reader } from './eventstoredb-read.ts';
import { matches, type RawEvent, recordedEvent } from './eventstoredb-records.ts';
import { withTimeOut } from './eventstoredb-time-out.ts';

/** Of a page: what is held at once. */
const PAGE: Bounds = { events: 500, bytes: 1024 * 1024 };
/** A feed that brought nothing for this long since it caught up is compared with the log's head. */
const QUIET_MS = 100;
/** Events looked at in one go where the feed was quiet and the log went on; above what lies between two checkpoints. */
const SWEEP_EVENTS = 500;

export interface Followed {
  readonly connection: Connection;
  readonly reader: Reader;
  readonly codec: EventCodec;
}

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
 * Pages of a search from strictly after the position, until the signal aborts or the connection fails. Followers of the
 * log share one subscription instead (`eventstoredb-tail.ts`).
 * @throws what ended the client's subscription, which never comes back by itself.
 */
export async function* follow(
  { connection, reader, codec }: Followed,
  after: Position,
  filter: Filter,
  signal: AbortSignal,
): AsyncGenerator<FollowedPage> {
  // A subscription beyond the end of the log would be silent for ever, or see wrong events.
  const isReached = after === LOG_START ? undefined : reader.after(after, 0);
  const [trusted] = await Promise.all([isCheckpointTrusted(connection), isReached]);
  const feed = await openFeed(connection, { after, filter, signal, trusted });

  const arrived = async (position: Position): Promise<FollowedPage | undefined> => {
    const items = await gather(feed, position, PAGE);
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
    // A server that is still searching is not helped by a second search of the same events.
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
