import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  excludeSystemEvents,
  type Filter as ServerFilter,
  type Position as ServerPosition,
  START,
  STREAM_NAME,
} from '@eventstore/db-client';
import { type Filter, LOG_START, type Position } from '../../domain/ports/event-store.ts';
import type { Connection } from './eventstoredb-connection.ts';
import { bytesBetween, formatPosition, parsePosition } from './eventstoredb-position.ts';
import { type RawEvent, rawEvent } from './eventstoredb-records.ts';
import { withTimeOut } from './eventstoredb-time-out.ts';

/** Windows of 32 events that the server searches between checkpoints: fewer is chatter, more is searched again after a break. */
const CHECKPOINT_WINDOWS = 8;
/**
 * Objects that each of the client's buffers holds ahead of the consumer, beside 16 that gRPC holds. Events of a
 * megabyte are allowed, so more costs memory; it is no quicker.
 */
const BUFFERED = 1;

/** Next in the log: an event, or word that everything up to a position was searched and sent. */
export type Item = { readonly event: RawEvent } | { readonly checkpoint: Position };

/** One subscription of the client's, from its call to its end. */
export interface Feed {
  /** Whether everything that was in the log when it was opened has been searched and sent. */
  isCaughtUp(): boolean;
  /** What has arrived, `undefined` when nothing has. */
  take(): Item | undefined;
  /** Resolves when something arrived or the feed failed or its signal aborts; after `ms` at the latest. */
  arrival(ms: number): Promise<void>;
  /** @throws what ended the feed, if something did. */
  assertAlive(): void;
  close(): void;
}

export interface FeedOptions {
  readonly after: Position;
  readonly filter: Filter;
  readonly signal: AbortSignal;
  /** Whether the server's checkpoints are to be believed. */
  readonly trusted: boolean;
}

/**
 * Servers before 24.10.5, and 25.0.0, can name a checkpoint beyond an event that they have not sent yet: what lies
 * between would be lost after a restart.
 */
export const trustsCheckpoints = (serverVersion: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = serverVersion.split('.').map(Number);
  if (major !== 24) return major === 25 ? minor > 0 || patch > 0 : major > 25;
  return minor > 10 || (minor === 10 && patch >= 5);
};

const serverFilter = ({ categories = [] }: Filter): ServerFilter => {
  const often = { checkpointInterval: CHECKPOINT_WINDOWS };
  if (categories.length === 0) return excludeSystemEvents(often);
  return { ...often, filterOn: STREAM_NAME, prefixes: categories.map((category) => `${category}-`) };
};

const itemOf = (object: Item | AllStreamResolvedEvent): Item | undefined => {
  if ('checkpoint' in object) return object;
  const event = rawEvent(object as AllStreamResolvedEvent); // nothing else is in the stream
  return event && { event };
};

/** Hears of everything that happens to a subscription, for as long as it lives. */
const watch = (subscription: AllStreamSubscription, signal: AbortSignal) => {
  let failure: Error | undefined;
  let wake = (): void => {};
  const end = (error?: Error): void => {
    failure ??= error ?? new Error('14 UNAVAILABLE: the server ended the subscription');
    wake();
  };
  subscription.on('error', end); // stays: the client emits an error twice, the real one first
  subscription.on('end', () => end());
  subscription.on('close', () => end());
  subscription.on('readable', () => wake());
  const aborted = (): void => wake();
  signal.addEventListener('abort', aborted);
  return {
    close: () => signal.removeEventListener('abort', aborted),
    failure: () => failure,
    next: (): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      return promise;
    },
  };
};

/** Subscribes from strictly after the position. @throws when the server does not confirm in time. */
export const openFeed = async (
  { client, system, timeOut }: Connection,
  { after, filter, signal, trusted }: FeedOptions,
): Promise<Feed> => {
  const subscription = client.subscribeToAll(
    {
      fromPosition: after === LOG_START ? START : parsePosition(after),
      filter: {
        ...serverFilter(filter),
        // Called ahead of the events that are still buffered: pushed behind them, it takes its turn.
        checkpointReached: (to: AllStreamSubscription, position: ServerPosition) => {
          if (trusted) to.push({ checkpoint: formatPosition(position) });
        },
      },
    },
    { highWaterMark: BUFFERED },
  );
  let caughtUp = false;
  subscription.once('caughtUp', () => {
    caughtUp = true;
  });
  const news = watch(subscription, signal);
  const assertAlive = (): void => {
    const failure = news.failure();
    if (failure !== undefined) throw failure;
  };
  const close = (): void => {
    news.close();
    subscription.unsubscribe().catch(() => {}); // there may be no call to end
  };

  const confirmed = new Promise<void>((resolve) => subscription.once('confirmation', () => resolve()));
  try {
    await withTimeOut(timeOut, Promise.race([confirmed, news.next().then(assertAlive)]));
  } catch (error) {
    close();
    throw error;
  }

  return {
    isCaughtUp: () => caughtUp,
    take: () => {
      for (;;) {
        const object: Item | AllStreamResolvedEvent | null = subscription.read();
        if (object === null) return undefined;
        const item = itemOf(object);
        if (item !== undefined) return item;
      }
    },
    arrival: async (ms) => {
      const arrived = news.next();
      if (subscription.readableLength > 0 || news.failure() !== undefined || signal.aborted) return;
      const done = new AbortController();
      const waited = system.sleep(ms, done.signal).catch(() => {}); // something arrived
      await Promise.race([arrived, waited]);
      done.abort();
    },
    assertAlive,
    close,
  };
};

export const eventsOf = (items: readonly Item[]): readonly RawEvent[] =>
  items.flatMap((item) => ('event' in item ? [item.event] : []));

export const positionOf = (item: Item): Position => ('event' in item ? item.event.position : item.checkpoint);

export interface Bounds {
  readonly events: number;
  /** Of the log: positions count bytes. */
  readonly bytes: number;
}

export const isFull = (items: readonly Item[], { events, bytes }: Bounds): boolean => {
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return false;
  return items.length >= events || bytesBetween(positionOf(first), positionOf(last)) >= bytes;
};

/** What has arrived from beyond the position, until nothing more does or it is enough. */
export const gather = async (feed: Feed, after: Position, bounds: Bounds): Promise<readonly Item[]> => {
  const items: Item[] = [];
  const takeAll = (): number => {
    const before = items.length;
    while (!isFull(items, bounds)) {
      const item = feed.take();
      if (item === undefined) break;
      if (positionOf(item) > after) items.push(item); // a sweep may have been there before
    }
    return items.length - before;
  };
  while (takeAll() > 0 && !isFull(items, bounds)) await nextTurn();
  return items;
};
