import { customerEvents } from '../../../domain/customer-events/customer-events.ts';
import { type EventStore, type FollowedPage, LOG_START, type Position } from '../../../domain/kernel/event-store.ts';
import type { Contents } from '../../../domain/ports/contents.ts';
import { createSlices, type Logger, pause, type System } from '../../../lib/async/async.ts';
import type { Database } from '../../../lib/projections/projections.ts';
import { eventsProjection } from '../../../projections/events/projection.ts';
import { type FeedCursor, type FeedEvent, isAfter, readNewEvents } from '../../../projections/events/queries.ts';
import type { ReadModels } from '../../../projections/read-models.ts';
import { type SerializedEvent, serializeEvents } from './serialize-events.ts';

/**
 * The newest events of the feed, for all open event streams of a process. One subscription of the log says which
 * organizations have something new; one query per page of the log reads it for all streams that watch them, and it is
 * serialized once. Without a stream, nothing is followed.
 *
 * The events of an organization are kept from the moment its first stream opens. A stream that is behind them reads the
 * read model page by page until it has reached them.
 */
export interface LiveFeed {
  /**
   * Follows an organization's events until `close`.
   * @param wake called on new events, and every 15 s. However many streams there are, they are woken in slices of a turn.
   */
  watch(organizationId: string, wake: () => void): Promise<Watch>;
  /** Wakes the streams of an organization. */
  wake(organizationId: string): void;
  /** Open streams. */
  size(): number;
  close(): Promise<void>;
}

export interface Watch {
  /** Events after a cursor, oldest first; null: some of them are no longer kept. */
  after(cursor: FeedCursor): Live | null;
  /** Calls `wake` when the stream's turn comes. */
  wakeInTurn(): void;
  close(): void;
}

/** Consecutive events of an organization. */
interface Live {
  readonly events: readonly LiveEvent[];
  /** Everything up to here is in `events` or was before them. */
  readonly end: FeedCursor;
  readonly hasMore: boolean;
}

export interface LiveEvent {
  readonly event: FeedEvent;
  readonly serialized: SerializedEvent;
  /** The same as JSON, made once for all streams. */
  readonly json: string;
}

/** Characters of JSON, shared by all watched organizations. Higher: memory. Lower: streams that lag a little query the read model. */
const KEPT_CHARACTERS_MAX = 16_000_000;
/** Events handed to a stream at once, and held for it while its reader is stalled. */
const BATCH_EVENTS = 25;
/** Many proxies cut connections that are idle for 30 s. */
const WAKE_EVERY_MS = 15_000;
/** Pause after a fault of the log or the database. */
const RETRY_MS = 1_000;
/** Larger than any item of one log event: a cursor behind all of them. */
const LAST_ITEM = 9_999;

export const endOf = (position: Position): FeedCursor => ({ position, index: LAST_ITEM });

interface WatchedFeed {
  /** Everything behind it is kept. */
  from: FeedCursor;
  events: LiveEvent[];
  characters: number;
  readonly wakes: Set<() => void>;
}

export interface LiveFeedOptions {
  readonly pool: Database;
  readonly store: Pick<EventStore, 'head' | 'subscribe'>;
  readonly contents: Pick<Contents, 'heads'>;
  readonly readModels: Pick<ReadModels, 'waitFor'>;
  readonly system: System;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Index of the first event behind a cursor. */
const firstAfter = (events: readonly LiveEvent[], cursor: FeedCursor): number => {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isAfter(events[middle]?.event.cursor ?? cursor, cursor)) high = middle;
    else low = middle + 1;
  }
  return low;
};

export const createLiveFeed = (options: LiveFeedOptions): LiveFeed => {
  const { pool, store, contents, readModels, system, logger } = options;
  const watched = new Map<string, WatchedFeed>();
  let following: { readonly controller: AbortController; readonly ended: Promise<void> } | undefined;
  /** The feed is read up to here. */
  let end: Position = LOG_START;
  /** End of the page that is being read. */
  let reading: Position = LOG_START;
  let streams = 0;
  const slices = createSlices(system.monotonicMs);
  /** Those that will be woken. */
  const due = new Set<() => void>();

  const keep = (one: WatchedFeed, events: readonly LiveEvent[]): void => {
    for (const live of events.filter(({ event }) => isAfter(event.cursor, one.from))) {
      one.events.push(live);
      one.characters += live.json.length;
    }
    const charactersMax = KEPT_CHARACTERS_MAX / watched.size;
    let dropped = 0;
    for (; one.characters > charactersMax; dropped += 1) one.characters -= one.events[dropped]?.json.length ?? 0;
    if (dropped === 0) return;
    one.from = one.events[dropped - 1]?.event.cursor ?? one.from;
    one.events = one.events.slice(dropped);
  };

  const wakeInTurn = (organizationId: string, wake: () => void): void => {
    if (due.has(wake)) return;
    due.add(wake);
    slices.run(organizationId, () => {
      if (due.delete(wake)) wake();
    });
  };

  const wakeAll = (organizationIds: Iterable<string>): void => {
    for (const id of organizationIds) for (const wake of watched.get(id)?.wakes ?? []) wakeInTurn(id, wake);
  };

  /** The watched organizations that a page of the log is about. */
  const concerned = ({ events }: FollowedPage): readonly string[] => [
    ...new Set(
      events.flatMap((event) => customerEvents(event).map(({ organizationId }) => organizationId)),
    ).intersection(watched),
  ];

  /** New events of the watched organizations, once the read model has them. */
  const readNew = async (organizationIds: readonly string[], upTo: Position, signal: AbortSignal) => {
    while (!(await readModels.waitFor(['events'], upTo))) signal.throwIfAborted();
    const events = await readNewEvents(pool, { organizationIds, after: end, upTo });
    const serialized = await serializeEvents(contents, events);
    signal.throwIfAborted();
    return events.map((event, index) => {
      const shown = serialized[index] as SerializedEvent;
      return { event, serialized: shown, json: JSON.stringify(shown) };
    });
  };

  const take = async (page: FollowedPage, signal: AbortSignal): Promise<void> => {
    reading = page.position;
    const organizationIds = concerned(page);
    const live = organizationIds.length === 0 ? [] : await readNew(organizationIds, page.position, signal);
    for (const [id, events] of Map.groupBy(live, ({ event }) => event.organizationId)) {
      const one = watched.get(id);
      if (one !== undefined) keep(one, events);
    }
    end = page.position;
    forgetErased(page);
    wakeAll(organizationIds);
  };

  /** Drops kept events, which may name the erased person. Streams that are behind then read the feed, which no longer does. */
  const forgetErased = ({ events }: FollowedPage): void => {
    for (const { type, metadata } of events) {
      const one = type === 'PersonErased' ? watched.get(metadata.organizationId) : undefined;
      if (one !== undefined) Object.assign(one, { from: endOf(end), events: [], characters: 0 });
    }
  };

  const takeAll = async (signal: AbortSignal): Promise<void> => {
    const pages = store.subscribe(end, { categories: eventsProjection.categories }, signal);
    for await (const page of pages) await take(page, signal);
  };

  /** Tries again after a fault, until it is aborted. */
  const follow = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await takeAll(signal).catch((error: unknown) => {
        if (signal.aborted) return;
        logger.warn({ err: error }, 'event streams are waiting: cannot follow the feed');
      });
      await pause(system, RETRY_MS, signal);
    }
  };

  const wakeRegularly = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await pause(system, WAKE_EVERY_MS, signal);
      wakeAll(watched.keys());
    }
  };

  const start = (head: Position): void => {
    if (following !== undefined) return;
    end = head;
    reading = head;
    const controller = new AbortController();
    const { signal } = controller;
    following = { controller, ended: Promise.all([follow(signal), wakeRegularly(signal)]).then(() => undefined) };
  };

  const stop = async (): Promise<void> => {
    const ending = following;
    following = undefined;
    ending?.controller.abort();
    await ending?.ended;
  };

  const leave = (organizationId: string, one: WatchedFeed, wake: () => void): void => {
    if (!one.wakes.delete(wake)) return;
    due.delete(wake);
    streams -= 1;
    if (one.wakes.size === 0) watched.delete(organizationId);
    if (watched.size === 0) void stop();
  };

  return {
    watch: async (organizationId, wake) => {
      start(await store.head());
      const one = watched.get(organizationId) ?? { from: endOf(reading), events: [], characters: 0, wakes: new Set() };
      watched.set(organizationId, one);
      one.wakes.add(wake);
      streams += 1;
      return {
        after: (cursor) => {
          if (isAfter(one.from, cursor)) return null;
          const first = firstAfter(one.events, cursor);
          const events = one.events.slice(first, first + BATCH_EVENTS);
          const hasMore = first + BATCH_EVENTS < one.events.length;
          return { events, hasMore, end: hasMore ? (events.at(-1)?.event.cursor ?? cursor) : endOf(end) };
        },
        wakeInTurn: () => wakeInTurn(organizationId, wake),
        close: () => leave(organizationId, one, wake),
      };
    },
    wake: (organizationId) => wakeAll([organizationId]),
    size: () => streams,
    close: stop,
  };
};
