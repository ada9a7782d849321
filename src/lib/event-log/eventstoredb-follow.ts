import { setImmediate as nextTurn } from 'node:timers/promises';
import { ENDED } from '../async/async.ts';
import {
  type EventCodec,
  type EventStore,
  type Filter,
  type FollowedPage,
  heldBytes,
  isBesideMessages,
  LOG_START,
  type Page,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
} from './event-log.ts';
import { type Connection, inTime, NoAnswer, type ReadCall, type Recovery, readFault } from './eventstoredb-client.ts';
import { bytesBetween, type RawEvent, type ReadMessage } from './eventstoredb-protocol.ts';
import { matches, type Reader, recordedEvent } from './eventstoredb-read.ts';

/**
 * Windows of 32 events that the server searches between checkpoints. Fewer cause chatter, more are searched again after
 * a break.
 */
const CHECKPOINT_WINDOWS = 8;

/** Next in the log: an event, or a checkpoint up to which everything has been searched and sent. */
type Item = { readonly event: RawEvent } | { readonly checkpoint: Position };

/** One subscription, from its call to its end. Beyond `ARRIVED`, the server sends no faster than the consumer reads. */
interface Feed {
  /** True if everything that was in the log when the feed was opened has been searched, sent and consumed. */
  isCaughtUp(): boolean;
  /** Returns the next item that has arrived, or `undefined`. */
  take(): Item | undefined;
  /** Resolves when something arrives, the feed fails or its signal aborts; after about `ms` at the latest. */
  arrival(ms: number): Promise<void>;
  /** @throws the error that ended the feed, if any. */
  assertAlive(): void;
  close(): void;
}

interface FeedOptions {
  readonly after: Position;
  readonly filter: Filter;
  readonly signal: AbortSignal;
  /** True if the server's checkpoints can be trusted. */
  readonly trusted: boolean;
}

/**
 * Servers before 24.10.5, and 25.0.0, can name a checkpoint beyond an event that they have not sent yet. Events in
 * between would be lost after a restart.
 */
const trustsCheckpoints = (serverVersion: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = serverVersion.split('.').map(Number);
  if (major !== 24) return major === 25 ? minor > 0 || patch > 0 : major > 25;
  return minor > 10 || (minor === 10 && patch >= 5);
};

interface Bounds {
  readonly events: number;
  /** Bytes of the log, which positions count. */
  readonly bytes: number;
}

const eventsOf = (items: readonly Item[]): readonly RawEvent[] =>
  items.flatMap((item) => ('event' in item ? [item.event] : []));

const positionOf = (item: Item): Position => ('event' in item ? item.event.position : item.checkpoint);

const isFull = (items: readonly Item[], { events, bytes }: Bounds): boolean => {
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return false;
  return items.length >= events || bytesBetween(positionOf(first), positionOf(last)) >= bytes;
};

/**
 * Limit for items waiting to be consumed. More costs memory. gRPC alone would buffer 16 events, which arrive once per
 * turn of the event loop, so a busy process would receive only a hundred events a second.
 */
const ARRIVED: Bounds = { events: 500, bytes: 1024 * 1024 };

/** Watches a subscription for as long as it lives, and buffers its items. */
const watch = (call: ReadCall, signal: AbortSignal, itemOf: (message: ReadMessage) => Item | undefined) => {
  let arrived: Item[] = [];
  /** Number of arrived items that have been consumed. */
  let taken = 0;
  let failure: Error | undefined;
  let wake = (): void => {};
  const end = (error?: Error): void => {
    failure ??= error ?? new Error('14 UNAVAILABLE: the server ended the subscription');
    wake();
  };
  call.on('error', end);
  call.on('end', () => end());
  call.on('close', () => end());
  call.on('data', (message) => {
    const item = itemOf(message);
    if (item !== undefined) arrived.push(item);
    if (isFull(arrived, ARRIVED)) call.pause();
    wake();
  });
  const aborted = (): void => wake();
  signal.addEventListener('abort', aborted);
  return {
    close: () => signal.removeEventListener('abort', aborted),
    failure: () => failure,
    take: (): Item | undefined => {
      const item = arrived[taken];
      taken += 1;
      if (item !== undefined) return item;
      [arrived, taken] = [[], 0];
      if (call.isPaused()) call.resume();
      return undefined;
    },
    isEmpty: () => taken >= arrived.length,
    wake: () => wake(),
    next: (): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      return promise;
    },
  };
};

/** Subscribes strictly after the position. @throws if the server does not confirm in time. */
const openFeed = async (connection: Connection, { after, filter, signal, trusted }: FeedOptions): Promise<Feed> => {
  const prefixes = filter.categories?.map((category) => `${category}-`) ?? [];
  const query = { after, prefixes, checkpointWindows: CHECKPOINT_WINDOWS };
  const call = await connection.openRead(query, { requiresLeader: false });
  let isConfirmed = false;
  let isCaughtUp = false;

  const itemOf = (message: ReadMessage): Item | undefined => {
    if (message.kind === 'event') return { event: message.event };
    if (message.kind === 'checkpoint') return trusted ? { checkpoint: message.position } : undefined;
    isConfirmed ||= message.kind === 'confirmed';
    isCaughtUp ||= message.kind === 'caught-up';
    return undefined;
  };
  const news = watch(call, signal, itemOf);
  const assertAlive = (): void => {
    const failure = news.failure();
    if (failure !== undefined) throw failure;
  };
  const close = (): void => {
    news.close();
    call.cancel();
  };
  /** Waits for the confirmation, which is the first message. */
  const confirmed = async (): Promise<void> => {
    while (!isConfirmed) {
      const arrival = news.next();
      assertAlive();
      await arrival;
    }
  };

  try {
    await inTime(connection.callTimeoutMs, confirmed());
  } catch (error) {
    close();
    throw error;
  }

  return {
    isCaughtUp: () => isCaughtUp && news.isEmpty(),
    take: news.take,
    arrival: async (ms) => {
      const arrival = news.next();
      if (!news.isEmpty() || news.failure() !== undefined || signal.aborted) return;
      const timer = setTimeout(() => news.wake(), ms);
      await arrival;
      clearTimeout(timer);
    },
    assertAlive,
    close,
  };
};

/** Collects items after the position until no more arrive or the bounds are reached. */
const collect = async (feed: Feed, after: Position, bounds: Bounds): Promise<readonly Item[]> => {
  const items: Item[] = [];
  const takeAll = (): number => {
    const before = items.length;
    while (!isFull(items, bounds)) {
      const item = feed.take();
      if (item === undefined) break;
      if (positionOf(item) > after) items.push(item); // a sweep may already have passed it
    }
    return items.length - before;
  };
  while (takeAll() > 0 && !isFull(items, bounds)) await nextTurn();
  return items;
};

/** Size of a page: the amount held at once. */
const PAGE: Bounds = { events: 500, bytes: 1024 * 1024 };
/** A feed that has been silent for this long since it caught up is compared with the log's head. */
const QUIET_MS = 100;
/** Events read in one go if the feed was silent and the log grew. Larger than the distance between two checkpoints. */
const SWEEP_EVENTS = 500;

interface SearchedLog {
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
 * share one subscription instead (`createTail`).
 * @throws the error that ended the client's subscription, which never recovers.
 */
async function* follow(
  { connection, reader, codec }: SearchedLog,
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

/**
 * Events read and filtered here before the server is asked to search. Fewer opens a subscription for a few hundred
 * events on every further page; more transfers unwanted events.
 */
const NEAR_EVENTS_MAX = 2000;

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
export const createReadAll = (searched: SearchedLog): EventStore['readAll'] => {
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
      throw readFault(error, connection.server);
    }
  };

  return async (options) =>
    isSelective(options) && (await isCheckpointTrusted(connection)) ? readSelected(options) : reader.readAll(options);
};

/**
 * The end of the log, shared by all followers in this process: one subscription to the whole log, whose events are kept
 * for a while and decoded once. Each follower has its own position. A follower that is behind the kept events reads
 * pages until it catches up; a slow one delays no other, and nothing is fetched unless a follower requests it.
 *
 * A subscription that ends is reopened from the last kept event; followers do not notice.
 */

/** Amount fetched at once. The bytes of the log, as counted by positions, bound how much large events hold. */
const FETCHED: Bounds = { events: 500, bytes: 1024 * 1024 };
/** Events kept, some 10 MB decoded. Fewer force paused followers to read on their own, more is unused memory. */
const KEPT_EVENTS_MAX = 5_000;
/** The same in bytes of the log, for large events. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
/** Share of kept events dropped at a time. Each drop moves all remaining ones. */
const DROPPED_SHARE = 5;
/**
 * A subscription that has been silent for this long is compared with the log's head: it may have ended without an
 * error. Shorter costs idle reads; longer delays followers of a server that went silent.
 */
const TAIL_QUIET_MS = 1_000;
/** How long a reader waits for the subscription to reach the head. After that it reads on its own. */
const BRING_MS_MAX = 250;
interface TailOptions {
  readonly connection: Connection;
  readonly reader: Reader;
  readonly codec: EventCodec;
  readonly recovery: Recovery;
}

export interface Tail {
  /** Keeps events while there are followers. @returns a function that ends following. */
  join(): () => void;
  /** True if a position is known to be in this log without asking. */
  holds(position: Position): boolean;
  /** Start of the kept events; null: no follower yet. */
  start(): Position | null;
  /** Up to `limit` kept events after a position that is not before their start; null: none yet. */
  take(from: Position, filter: Filter, limit: number): Page | null;
  /** Resolves when there may be more. @throws the fault if retrying is useless. */
  more(): Promise<void>;
  /**
   * A page of kept events up to `to`, or to the current head; null: it must be read from the server.
   * @throws {StoreUnavailable}
   */
  page(options: ReadAllOptions): Promise<Page | null>;
}

interface KeptEvent {
  readonly raw: RawEvent;
  /** Set on first use. */
  recorded: RecordedEvent | null;
}

/** All events after `start`, up to and including `end`. */
interface EventWindow {
  start: Position;
  end: Position;
  readonly events: KeptEvent[];
}

const indexAfter = (events: readonly KeptEvent[], position: Position): number => {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.raw.position ?? '') > position) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** Up to `limit` events from an index on. */
const matching = (
  events: readonly KeptEvent[],
  from: number,
  filter: Filter | undefined,
  limit: number,
): readonly KeptEvent[] => {
  const found: KeptEvent[] = [];
  for (let index = from; index < events.length && found.length < limit; index += 1) {
    const event = events[index];
    if (event !== undefined && matches(filter, event.raw)) found.push(event);
  }
  return found;
};

const isTooMuch = ({ start, end, events }: EventWindow): boolean =>
  events.length > KEPT_EVENTS_MAX || (start !== LOG_START && bytesBetween(start, end) > KEPT_BYTES_MAX);

export const createTail = ({ connection, reader, codec, recovery }: TailOptions): Tail => {
  const { system, closing } = connection;
  let kept: EventWindow | null = null;
  let feed: Feed | null = null;
  /** The head at the last silent moment in which the subscription was behind it. */
  let missed: Position | null = null;
  let pulling: Promise<void> | null = null;
  let followers = 0;

  const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    await system.sleep(ms, signal).catch(() => {}); // aborted
  };

  const forget = (): void => {
    feed?.close();
    feed = null;
    missed = null;
  };

  const recorded = (event: KeptEvent): RecordedEvent => {
    event.recorded ??= recordedEvent(codec, event.raw);
    return event.recorded;
  };

  const keep = (into: EventWindow, events: readonly RawEvent[], end: Position): void => {
    for (const raw of events) into.events.push({ raw, recorded: null });
    into.end = end;
    while (into.events.length > 1 && isTooMuch(into)) {
      const dropped = into.events.splice(0, Math.ceil(into.events.length / DROPPED_SHARE));
      into.start = dropped.at(-1)?.raw.position ?? into.start;
    }
  };

  /** Fails if the subscription was silent twice in a row and behind the same head both times. @throws {NoAnswer} */
  const assertNotSilent = async ({ end }: EventWindow): Promise<void> => {
    const head = await reader.head();
    if (missed !== null && missed > end) throw new NoAnswer(`a subscription was silent for ${TAIL_QUIET_MS} ms`);
    missed = head > end ? head : null;
  };

  /** Subscribes after the kept events, or after the log's head. */
  const open = async (): Promise<void> => {
    const start = kept?.end ?? (await reader.head());
    // A subscription beyond the end of the log would be silent forever, or see wrong events.
    if (kept !== null && start !== LOG_START) await reader.after(start, 0);
    const opened = await openFeed(connection, { after: start, filter: {}, signal: closing, trusted: false });
    if (followers === 0) return opened.close(); // the last follower has left in the meantime
    kept ??= { start, end: start, events: [] };
    feed = opened;
  };

  const fetch = async (): Promise<void> => {
    if (feed === null || kept === null) return open();
    const [into, from] = [kept, feed];
    const items = await collect(from, into.end, FETCHED);
    const last = items.at(-1);
    if (last !== undefined) {
      missed = null;
      keep(into, eventsOf(items), positionOf(last));
      return;
    }
    from.assertAlive();
    const beganMs = system.monotonicMs();
    await from.arrival(TAIL_QUIET_MS);
    if (system.monotonicMs() - beganMs >= TAIL_QUIET_MS - 1) await assertNotSilent(into);
  };

  /** Fetches more events. If none have arrived yet, it returns, and the next call continues to wait. */
  const pull = (): Promise<void> => {
    pulling ??= fetch()
      .catch(async (error: unknown) => {
        forget();
        try {
          await recovery.recover(error, closing);
        } catch (fault) {
          kept = null; // another log, or a restored one: the next follower starts over
          throw fault;
        }
      })
      .finally(() => {
        pulling = null;
      });
    pulling.catch(() => {}); // reported to those who wait
    return pulling;
  };

  /** Kept events after a position that match a filter. `position` is how far the selection reaches. */
  const select = ({ events, end }: EventWindow, from: Position, filter: Filter | undefined, limit: number): Page => {
    const found = matching(events, indexAfter(events, from), filter, limit);
    const last = found.length === limit ? found.at(-1)?.raw.position : undefined;
    return { events: found.map(recorded), position: last ?? (end > from ? end : from) };
  };

  /** True if the kept events reach that position within a moment. */
  const brings = async (head: Position): Promise<boolean> => {
    const endMs = system.monotonicMs() + BRING_MS_MAX;
    const over = new AbortController();
    const limit = pause(BRING_MS_MAX, over.signal);
    try {
      while (kept !== null && kept.end < head && system.monotonicMs() < endMs) {
        await Promise.race([pull().catch(() => {}), limit]);
      }
    } finally {
      over.abort(ENDED);
    }
    return kept !== null && kept.end >= head;
  };

  const covers = (from: Position): boolean => kept !== null && feed !== null && from >= kept.start;

  return {
    join: () => {
      followers += 1;
      return () => {
        followers -= 1;
        if (followers > 0) return;
        forget();
        kept = null;
      };
    },
    holds: (position) => kept !== null && position >= kept.start && position <= kept.end,
    start: () => kept?.start ?? null,
    take: (from, filter, limit) => (kept === null || kept.end <= from ? null : select(kept, from, filter, limit)),
    more: pull,
    page: async ({ from = LOG_START, to, filter, limit }) => {
      if (!covers(from)) return null;
      const end = to ?? (await reader.head());
      if (end === from) return { events: [], position: from };
      // A position beyond the head must be rejected by the reader.
      if (end < from || !(await brings(end)) || kept === null || !covers(from)) return null;
      return select(kept, from, filter, limit);
    },
  };
};
