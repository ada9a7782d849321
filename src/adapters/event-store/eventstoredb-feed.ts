import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Filter, Position } from '../../domain/kernel/event-store.ts';
import { type Connection, inTime, type ReadCall } from './eventstoredb-client.ts';
import { bytesBetween, type RawEvent, type ReadMessage } from './eventstoredb-protocol-read.ts';

/**
 * Windows of 32 events that the server searches between checkpoints. Fewer cause chatter, more are searched again after
 * a break.
 */
const CHECKPOINT_WINDOWS = 8;

/** Next in the log: an event, or a checkpoint up to which everything has been searched and sent. */
export type Item = { readonly event: RawEvent } | { readonly checkpoint: Position };

/** One subscription, from its call to its end. Beyond `ARRIVED`, the server sends no faster than the consumer reads. */
export interface Feed {
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

export interface FeedOptions {
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
export const trustsCheckpoints = (serverVersion: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = serverVersion.split('.').map(Number);
  if (major !== 24) return major === 25 ? minor > 0 || patch > 0 : major > 25;
  return minor > 10 || (minor === 10 && patch >= 5);
};

export interface Bounds {
  readonly events: number;
  /** Bytes of the log, which positions count. */
  readonly bytes: number;
}

export const eventsOf = (items: readonly Item[]): readonly RawEvent[] =>
  items.flatMap((item) => ('event' in item ? [item.event] : []));

export const positionOf = (item: Item): Position => ('event' in item ? item.event.position : item.checkpoint);

export const isFull = (items: readonly Item[], { events, bytes }: Bounds): boolean => {
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
export const openFeed = async (
  connection: Connection,
  { after, filter, signal, trusted }: FeedOptions,
): Promise<Feed> => {
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
export const collect = async (feed: Feed, after: Position, bounds: Bounds): Promise<readonly Item[]> => {
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
