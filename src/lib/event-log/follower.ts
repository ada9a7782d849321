import { ENDED, pause, type System, untilAborted } from '../async/async.ts';
import {
  type ContextShape,
  type EventShape,
  type EventStore,
  type Filter,
  type FollowedPage,
  heldBytes,
  LOG_START,
  type Page,
  type Position,
  passes,
} from './event-log.ts';

/**
 * The one follower of the log in a process. Every consumer of new events reads from it, so an event is fetched and
 * decoded once.
 *
 * It keeps the newest pages of one subscription. Each consumer keeps its own position and asks for what comes after it:
 * one that is near the end is served from the kept pages, one that has fallen behind them reads the log in bounded pages
 * until it reaches them: together with other consumers that are behind if it has a name, else alone. A fault of the
 * subscription fails every waiting consumer; each retries independently.
 */
export interface LogFollower<E extends EventShape = EventShape, C extends ContextShape = ContextShape> {
  /** Some events after a position, as soon as there are any; null: the follower was closed. */
  next(after: Position, options: NextOptions): Promise<Batch<E, C> | null>;
  /** The same contract as the log's own. */
  readonly subscribe: EventStore<E, C>['subscribe'];
  close(): Promise<void>;
}

interface NextOptions {
  /** Default: all events. The position moves past the others too. */
  readonly filter?: Filter;
  /** A page of the subscription is never split, so a batch may hold more. */
  readonly eventsMax: number;
  /** Name of a consumer without a filter. When far behind, it shares pages with the other named consumers. */
  readonly name?: string;
}

/** Consecutive events of the log. */
export interface Batch<E extends EventShape = EventShape, C extends ContextShape = ContextShape>
  extends FollowedPage<E, C> {
  /** The position asked for; `position` is at or behind the last event. */
  readonly after: Position;
}

/** Events of a page. Larger holds more memory, smaller costs transactions. */
const SHARED_PAGE_EVENTS_MAX = 4000;
/** The same for large events, and the memory of a consumer that reads alone. */
const PAGE_BYTES_MAX = 8_000_000;
/** Pages by which the fastest reader may lead the slowest. Higher: memory. Lower: idle processors. */
const PAGES_KEPT_MAX = 3;
/** A reader that finds this many events is far behind. It waits for others that are, and reading starts at the slowest. */
const GATHERING_EVENTS_MIN = 1000;
const GATHER_READERS_MS = 500;
/** Longest wait for a slower reader. */
const PATIENCE_MS = 5_000;
/** After a time-out, a reader reads alone and does not wait again for this long. */
const ALONE_MS = 60_000;
/** A reader that is fewer pages behind catches up in a moment, so it does not wait for the others. */
const WAITING_PAGES_MIN = 3;
/** Interval at which a waiting reader looks again. */
const WAITING_LOOK_AGAIN_MS = 10;

interface Reader {
  /** Asked for, then the end of the page that it has. */
  position: Position;
  sinceMs: number;
  isAsking: boolean;
  /** Asked for in a row; 0: it reads elsewhere. */
  pages: number;
  /** When it last gave up on the others. */
  aloneMs: number;
}

interface SharedPage extends Page {
  readonly after: Position;
}

interface ReadingBehindOptions {
  readonly store: Pick<EventStore, 'readAll'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  /** Ends the waiting for others. */
  readonly signal: AbortSignal;
}

export interface ReadingBehind {
  /** Events after a position, without a filter; null: the other readers are elsewhere, so the caller reads alone. */
  read(name: string, after: Position): Promise<Page | null>;
  /** Removes a reader, so that the others do not wait for it. */
  leave(name: string): void;
}

/**
 * Consumers that are far behind the head of the log read it together: a page is fetched and decoded once, and kept until
 * the slowest has read it. Otherwise sixteen projections would read and decode the whole log sixteen times.
 */
export const createReadingBehind = ({ store, system, signal }: ReadingBehindOptions): ReadingBehind => {
  const { monotonicMs } = system;
  const readers = new Map<string, Reader>();
  /** Consecutive pages. */
  let kept: SharedPage[] = [];
  /** Position of the last page. */
  let end: Position = LOG_START;
  let pulling: Promise<void> | undefined;

  const isPatient = ({ sinceMs }: Reader): boolean => monotonicMs() - sinceMs < PATIENCE_MS;
  const start = (): Position => kept[0]?.after ?? end;
  const isHere = ({ position }: Reader): boolean => position >= start() && position <= end;
  const lookAgain = (): Promise<void> => pause(system, WAITING_LOOK_AGAIN_MS, signal);

  const beginAt = (position: Position): void => {
    kept = [];
    end = position;
  };

  const isReading = (reader: Reader): boolean => reader.pages > 0 && isHere(reader) && isPatient(reader);
  const isUsed = (): boolean => [...readers.values()].some(isReading);

  /** True for a reader that still needs the page that would be dropped. */
  const isSlower = (reader: Reader, dropped: Position): boolean =>
    isReading(reader) && !reader.isAsking && reader.position < dropped;

  const isFull = (): boolean => {
    const dropped = kept.at(-PAGES_KEPT_MAX);
    return dropped !== undefined && [...readers.values()].some((reader) => isSlower(reader, dropped.position));
  };

  const readOn = (): Promise<Page> =>
    store.readAll({ from: end, limit: SHARED_PAGE_EVENTS_MAX, bytesMax: PAGE_BYTES_MAX, signal });

  /** The first page, from where the slowest is. */
  const gather = async (page: Page): Promise<Page> => {
    if (page.events.length < GATHERING_EVENTS_MIN) return page;
    await pause(system, GATHER_READERS_MS, signal);
    const asked = [...readers.values()].filter(({ isAsking }) => isAsking).map(({ position }) => position);
    const slowest = asked.reduce((least, position) => (position < least ? position : least), end);
    if (slowest === end) return page;
    const first = end;
    beginAt(slowest);
    return readOn().catch(() => {
      beginAt(first); // who is slowest will see by itself
      return page;
    });
  };

  const keep = (page: Page): void => {
    if (page.position <= end) return;
    kept.push({ ...page, after: end });
    end = page.position;
    if (kept.length > PAGES_KEPT_MAX) kept.shift();
  };

  const pull = async (): Promise<void> => {
    while (isFull() && !signal.aborted) await lookAgain();
    const page = await readOn();
    keep(kept.length === 0 ? await gather(page) : page);
  };

  const pullShared = (): Promise<void> => {
    pulling ??= pull().finally(() => {
      pulling = undefined;
    });
    return pulling;
  };

  /** True if no reader uses the kept pages, so that reading restarts at this reader's position. */
  const isForsaken = (own: Reader): boolean => pulling === undefined && !isHere(own) && !isUsed();

  const nextKept = (reader: Reader): Page | null => {
    const after = reader.position;
    const page = kept.find(({ position }) => position > after);
    if (page === undefined || page.after > after) return null;
    Object.assign(reader, { position: page.position, sinceMs: monotonicMs() });
    if (after === page.after) return page;
    return { events: page.events.filter(({ position }) => position > after), position: page.position };
  };

  /** Waits for the shared read and ignores its faults, which the other readers report. */
  const awaitPull = (): Promise<void> => pulling?.catch(() => undefined) ?? lookAgain();

  /** Waits until the others have reached this reader's position. */
  const awaitOthers = async (reader: Reader): Promise<void> => {
    if (reader.pages < WAITING_PAGES_MIN || monotonicMs() - reader.aloneMs < ALONE_MS) return;
    while (reader.position > end && isPatient(reader) && !signal.aborted) await awaitPull();
    if (reader.position > end) reader.aloneMs = monotonicMs();
  };

  const reachOthers = async (reader: Reader): Promise<void> => {
    // The start of the shared pages is not known yet.
    if (reader.position < end && kept.length === 0) await awaitPull();
    if (reader.position > end) await awaitOthers(reader);
  };

  const nextPage = async (reader: Reader): Promise<Page | null> => {
    const before = end;
    if (reader.position === end) await pullShared();
    return nextKept(reader) ?? (end === before ? null : pageFor(reader));
  };

  const pageFor = async (reader: Reader): Promise<Page | null> => {
    if (isForsaken(reader)) beginAt(reader.position);
    if (!isHere(reader)) await reachOthers(reader);
    return isHere(reader) ? nextPage(reader) : null;
  };

  return {
    read: async (name, after) => {
      const { pages = 0, aloneMs = Number.NEGATIVE_INFINITY } = readers.get(name) ?? {};
      const reader = { position: after, sinceMs: monotonicMs(), isAsking: true, pages: pages + 1, aloneMs };
      readers.set(name, reader);
      try {
        return await pageFor(reader);
      } catch (fault) {
        reader.pages = 0; // until it asks again
        throw fault;
      } finally {
        reader.isAsking = false;
      }
    },
    leave: (name) => {
      const reader = readers.get(name);
      if (reader !== undefined) reader.pages = 0;
      if (kept.length > 0 && pulling === undefined && !isUsed()) kept = [];
    },
  };
};

/** Events per page of `subscribe`: larger pages hold more memory, smaller ones cost their consumer more transactions. */
const PAGE_EVENTS_MAX = 1000;
/** Kept events, some 10 MB. Higher: more memory. Lower: consumers that lag a little read and decode the log on their own. */
const KEPT_EVENTS_MAX = 8000;
/** The same for large events. */
const KEPT_BYTES_MAX = 16_000_000;
/** Kept pages: many hold one event. Higher: a longer scan per batch. Lower: consumers read the log on their own earlier. */
const KEPT_PAGES_MAX = 500;
/** A page of this many events means load. */
const BUSY_PAGE_EVENTS = 10;
/** Pause after such a page. Longer delays mail and webhooks under load, shorter costs more queries of fewer events. */
const GATHER_MS = 50;

/**
 * Delay until a consumer that is behind looks again after an empty read: the answering node may lag behind the subscription.
 * Higher: the consumer is delayed. Lower: useless reads of a log that has no events in between.
 */
const LOOK_AGAIN_MS = 1000;

interface KeptPage extends FollowedPage {
  readonly after: Position;
  readonly bytes: number;
}

interface Subscription {
  readonly pages: AsyncIterator<FollowedPage>;
  stop(): void;
}

interface LogFollowerOptions<E extends EventShape, C extends ContextShape> {
  readonly store: Pick<EventStore<E, C>, 'readAll' | 'subscribe'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
}

/** The pages that fit into a batch. The first always fits. */
const fitting = (pages: readonly KeptPage[], eventsMax: number): readonly KeptPage[] => {
  let events = 0;
  const end = pages.findIndex((page, index) => {
    events += page.events.length;
    return index > 0 && events > eventsMax;
  });
  return end === -1 ? pages : pages.slice(0, end);
};

export const createLogFollower = <E extends EventShape, C extends ContextShape>({
  store,
  system,
}: LogFollowerOptions<E, C>): LogFollower<E, C> => {
  const closing = new AbortController();
  let kept: KeptPage[] = [];
  let keptEvents = 0;
  let keptBytes = 0;
  /** Position of the last kept page. */
  let end: Position = LOG_START;
  let subscription: Subscription | undefined;
  let pulling: Promise<void> | undefined;
  let pullFromMs = Number.NEGATIVE_INFINITY;

  const together = createReadingBehind({ store, system, signal: closing.signal });

  const start = (): Position => kept[0]?.after ?? end;

  const open = (after: Position): Subscription => {
    const controller = new AbortController();
    const either = AbortSignal.any([closing.signal, controller.signal]);
    const pages = store.subscribe(after, {}, either)[Symbol.asyncIterator]();
    return {
      pages,
      stop: () => {
        controller.abort();
        // It may be between two pages, where nothing else ends it.
        pages.return?.().catch(() => undefined);
      },
    };
  };

  /** A consumer is further on than the subscription, which continues from there. */
  const jump = (to: Position): void => {
    subscription?.stop();
    subscription = undefined;
    kept = [];
    [keptEvents, keptBytes] = [0, 0];
    end = to;
  };

  const isTooMuch = (): boolean =>
    kept.length > KEPT_PAGES_MAX || keptEvents > KEPT_EVENTS_MAX || keptBytes > KEPT_BYTES_MAX;

  const keep = (page: FollowedPage): void => {
    const bytes = page.events.reduce((sum, event) => sum + heldBytes(event), 0);
    kept.push({ ...page, after: end, bytes });
    keptEvents += page.events.length;
    keptBytes += bytes;
    end = page.position;
    while (kept.length > 1 && isTooMuch()) {
      const dropped = kept.shift();
      keptEvents -= dropped?.events.length ?? 0;
      keptBytes -= dropped?.bytes ?? 0;
    }
    const isBusy = page.events.length >= BUSY_PAGE_EVENTS && !page.isFull;
    pullFromMs = isBusy ? system.monotonicMs() + GATHER_MS : Number.NEGATIVE_INFINITY;
  };

  /** @throws {Error} if the subscription failed or ended. Without the error, callers would retry in a busy loop. */
  const nextPage = async ({ pages }: Subscription): Promise<FollowedPage | null> => {
    const { done, value } = await pages.next();
    if (done !== true) return value;
    if (closing.signal.aborted) return null;
    throw new Error('the log ended its subscription');
  };

  const waitForMore = async (): Promise<void> => {
    const waitMs = pullFromMs - system.monotonicMs();
    if (waitMs > 0) await system.sleep(waitMs);
  };

  const pull = async (): Promise<void> => {
    await waitForMore();
    subscription ??= open(end);
    const current = subscription;
    const isLeft = (): boolean => current !== subscription; // by a jump, meanwhile
    try {
      const page = await nextPage(current);
      if (page !== null && !isLeft()) keep(page);
    } catch (error) {
      if (isLeft()) return;
      subscription = undefined;
      throw error;
    }
  };

  /** Every consumer that waits shares one pull. */
  const pullShared = (): Promise<void> => {
    pulling ??= pull().finally(() => {
      pulling = undefined;
    });
    return pulling;
  };

  const pageAfter = async (after: Position, { filter = {}, eventsMax, name }: NextOptions): Promise<Page> =>
    (name === undefined ? null : await together.read(name, after)) ??
    store.readAll({ from: after, limit: eventsMax, bytesMax: PAGE_BYTES_MAX, filter });

  /** Reads up to the start of the kept pages, for a consumer that is behind them. null: no events in between, as far as is known. */
  const readBehind = async (after: Position, options: NextOptions): Promise<Batch | null> => {
    const page = await pageAfter(after, options);
    if (page.position <= after) return null;
    const to = start();
    if (page.position <= to) return { after, events: page.events, position: page.position, isFull: true };
    return { after, events: page.events.filter(({ position }) => position <= to), position: to, isFull: true };
  };

  const readKept = (after: Position, { filter, eventsMax }: NextOptions): Batch | null => {
    const following = kept.slice(kept.findLastIndex(({ position }) => position <= after) + 1);
    const pages = fitting(following, eventsMax);
    const last = pages.at(-1);
    if (last === undefined) return null;
    return {
      after,
      events: pages
        .flatMap(({ events }) => events)
        .filter(({ position, stream }) => position > after && passes(filter, stream)),
      position: last.position,
      isFull: last.isFull || pages.length < following.length,
    };
  };

  const atHand = async (after: Position, options: NextOptions): Promise<Batch | null> => {
    if (after > end) jump(after);
    if (after < start()) return readBehind(after, options);
    if (options.name !== undefined) together.leave(options.name);
    return readKept(after, options);
  };

  const pullOrLookAgain = async (): Promise<void> => {
    const over = new AbortController();
    try {
      await Promise.race([pullShared(), pause(system, LOOK_AGAIN_MS, over.signal)]);
    } finally {
      over.abort(ENDED);
    }
  };

  const next: LogFollower['next'] = async (after, options) => {
    while (!closing.signal.aborted) {
      const batch = await atHand(after, options);
      if (batch !== null) return batch;
      await (after < start() ? pullOrLookAgain() : pullShared());
    }
    return null;
  };

  async function* subscribe(after: Position, filter: Filter, signal: AbortSignal): AsyncGenerator<FollowedPage> {
    let position = after;
    while (!signal.aborted) {
      const page = await untilAborted(signal, next(position, { filter, eventsMax: PAGE_EVENTS_MAX }));
      if (page == null) return;
      position = page.position;
      yield page;
    }
  }

  const follower: LogFollower = {
    next,
    subscribe,
    close: async () => {
      closing.abort();
      await pulling?.catch(() => undefined);
    },
  };
  return follower as LogFollower<E, C>; // its events come from the store
};
