import {
  type EventStore,
  type Filter,
  type FollowedPage,
  heldBytes,
  LOG_START,
  type Page,
  type Position,
  passes,
} from '../domain/kernel/event-store.ts';
import { ENDED, pause, type System, untilAborted } from '../lib/async/async.ts';
import { createReadingBehind, PAGE_BYTES_MAX } from './reading-behind.ts';

/**
 * The one follower of the log in a process. Projections, live views, dispatch and the recording of webhook deliveries
 * read from it, so an event is fetched and decoded once.
 *
 * It keeps the newest pages of one subscription. Each consumer keeps its own position and asks for what comes after it:
 * one that is near the end is served from the kept pages, one that has fallen behind them reads the log in bounded pages
 * until it reaches them: together with other consumers that are behind if it has a name, else alone. A fault of the
 * subscription fails every waiting consumer; each retries independently.
 */
export interface LogFollower {
  /** Some events after a position, as soon as there are any; null: the follower was closed. */
  next(after: Position, options: NextOptions): Promise<Batch | null>;
  /** The same contract as the log's own. */
  readonly subscribe: EventStore['subscribe'];
  close(): Promise<void>;
}

export interface NextOptions {
  /** Default: all events. The position moves past the others too. */
  readonly filter?: Filter;
  /** A page of the subscription is never split, so a batch may hold more. */
  readonly eventsMax: number;
  /** Name of a consumer without a filter. When far behind, it shares pages with the other named consumers. */
  readonly name?: string;
}

/** Consecutive events of the log. */
export interface Batch extends FollowedPage {
  /** The position asked for; `position` is at or behind the last event. */
  readonly after: Position;
}

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

export interface LogFollowerOptions {
  readonly store: Pick<EventStore, 'readAll' | 'subscribe'>;
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

export const createLogFollower = ({ store, system }: LogFollowerOptions): LogFollower => {
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

  return {
    next,
    subscribe,
    close: async () => {
      closing.abort();
      await pulling?.catch(() => undefined);
    },
  };
};
