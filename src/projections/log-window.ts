import {
  type EventStore,
  type FollowedPage,
  LOG_START,
  type Page,
  type Position,
} from '../domain/ports/event-store.ts';
import type { System } from '../domain/ports/system.ts';
import type { Batch } from './checkpoints.ts';

/**
 * One subscription for all projections of a process, so that each event is fetched and decoded once. Its last pages are
 * kept for those that are a little behind; one that is far behind reads by itself and holds nobody back.
 */
export interface LogWindow {
  /** Some events after a position, as soon as there are any; null: the signal aborted. */
  next(after: Position): Promise<Batch | null>;
}

/**
 * Events applied in one transaction: larger batches cost memory and lock time, smaller ones cost commits, and write a
 * message's row again for what another batch has brought.
 */
const BATCH_EVENTS_MAX = 4000;
/** Pages kept for projections that are behind: more are looked through each time, fewer make them read by themselves. */
const PAGES_MAX = 16;
/** Events in them, some 10 MB: more cost memory, fewer make who is behind read and decode by himself. */
const KEPT_EVENTS_MAX = 8_000;
/**
 * Pages are fetched at most this often, so that events travel together. It is the most that is added to the age of a
 * read model; less costs a transaction per projection each time.
 */
const PACE_MS = 20;
/** The same under load: a message's events then often meet in one batch, which writes its row once in place of thrice. */
const BUSY_PACE_MS = 100;
/** A page this large after the short pace means load: about a thousand events a second. */
const BUSY_PAGE_EVENTS = 20;
/** The same under heavy load: then this much older, and a third of the database's work less. */
const HEAVY_PACE_MS = 500;
/** A page this large means heavy load: about three thousand events a second. */
const HEAVY_PAGE_EVENTS = 300;

const paceMs = ({ isFull, events: { length: events } }: FollowedPage): number => {
  if (isFull) return 0;
  if (events >= HEAVY_PAGE_EVENTS) return HEAVY_PACE_MS;
  return events >= BUSY_PAGE_EVENTS ? BUSY_PACE_MS : PACE_MS;
};

interface LogWindowOptions {
  readonly store: Pick<EventStore, 'readAll' | 'subscribe'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  readonly signal: AbortSignal;
}

interface Kept extends Page {
  readonly after: Position;
}

const join = (after: Position, pages: readonly Kept[]): Batch => ({
  after,
  position: pages.at(-1)?.position ?? after,
  events: pages.flatMap(({ events }) => events).filter(({ position }) => position > after),
});

/** As many of the pages as fit into a batch; the first always does. */
const fitting = (pages: readonly Kept[]): readonly Kept[] => {
  let events = 0;
  const end = pages.findIndex((page, index) => {
    events += page.events.length;
    return index > 0 && events > BATCH_EVENTS_MAX;
  });
  return end === -1 ? pages : pages.slice(0, end);
};

/** As many of the newest pages as are kept; the last always is. */
const newest = (pages: readonly Kept[]): Kept[] => {
  const last = pages.slice(-PAGES_MAX);
  let events = 0;
  const dropped = last.findLastIndex((page, index) => {
    events += page.events.length;
    return index < last.length - 1 && events > KEPT_EVENTS_MAX;
  });
  return last.slice(dropped + 1);
};

export const createLogWindow = ({ store, system, signal }: LogWindowOptions): LogWindow => {
  let pages: Kept[] = [];
  let end: Position = LOG_START;
  let subscription: { readonly pages: AsyncIterator<FollowedPage>; readonly stop: () => void } | undefined;
  let pulling: Promise<void> | undefined;
  /** Not before then is the next page asked for. */
  let pullFromMs = Number.NEGATIVE_INFINITY;

  const start = (): Position => pages[0]?.after ?? end;

  const subscribe = (after: Position): NonNullable<typeof subscription> => {
    const controller = new AbortController();
    const both = AbortSignal.any([signal, controller.signal]);
    const following = store.subscribe(after, {}, both)[Symbol.asyncIterator]();
    return {
      pages: following,
      stop: () => {
        controller.abort();
        // It may be between two pages, where nothing else ends it.
        following.return?.().catch(() => undefined);
      },
    };
  };

  /** Everybody who is here is further on than the subscription: it goes on from there. */
  const jump = (to: Position): void => {
    subscription?.stop();
    subscription = undefined;
    pages = [];
    end = to;
  };

  const pace = async (): Promise<void> => {
    const waitMs = pullFromMs - system.monotonicMs();
    if (waitMs > 0) await system.sleep(waitMs);
  };

  const keep = (page: FollowedPage): void => {
    pages = newest([...pages, { ...page, after: end }]);
    end = page.position;
    pullFromMs = system.monotonicMs() + paceMs(page);
  };

  /** @throws {Error} the subscription broke, or ended by itself: asked again at once, it would spin. */
  const nextPage = async ({ pages: following }: NonNullable<typeof subscription>): Promise<FollowedPage | null> => {
    const { done, value } = await following.next();
    if (done !== true) return value;
    if (signal.aborted) return null;
    throw new Error('the log ended its subscription');
  };

  const pull = async (): Promise<void> => {
    await pace();
    subscription ??= subscribe(end);
    const current = subscription;
    try {
      const page = await nextPage(current);
      if (page !== null && current === subscription) keep(page);
    } catch (error) {
      if (current !== subscription) return; // stopped by a jump
      subscription = undefined;
      throw error;
    }
  };

  const pullShared = (): Promise<void> => {
    pulling ??= pull().finally(() => {
      pulling = undefined;
    });
    return pulling;
  };

  /** For one that is behind the window: as far as the window's start. */
  const readBehind = async (after: Position): Promise<Batch | null> => {
    const page = await store.readAll({ from: after, limit: BATCH_EVENTS_MAX });
    if (page.position <= after) {
      // A follower gets further than the last event of ours, and a reader does not: nothing lies between.
      await pullShared();
      return next(after);
    }
    const from = start();
    if (page.position <= from) return { after, ...page };
    return { after, position: from, events: page.events.filter(({ position }) => position <= from) };
  };

  /** What is at hand, or null: something has to be pulled first. */
  const atHand = (after: Position): Batch | null => {
    const following = pages.filter(({ position }) => position > after);
    return following.length === 0 ? null : join(after, fitting(following));
  };

  const next = async (after: Position): Promise<Batch | null> => {
    if (signal.aborted) return null;
    if (after < start()) return readBehind(after);
    if (after > end) jump(after);
    const batch = atHand(after);
    if (batch !== null) return batch;
    await pullShared();
    return next(after);
  };

  return { next };
};
