import type { EventCodec } from '../../domain/kernel/codec.ts';
import {
  type EventStore,
  type Filter,
  type FollowedPage,
  LOG_START,
  type Page,
  type Position,
  type ReadAllOptions,
} from '../../domain/kernel/event-store.ts';
import { untilAborted } from '../../lib/async/async.ts';
import type { Connection } from './eventstoredb-client.ts';
import { NoAnswer, type Recovery } from './eventstoredb-faults.ts';
import { bytesBetween } from './eventstoredb-protocol-read.ts';
import type { Reader } from './eventstoredb-read.ts';
import { matches, recordedEvent } from './eventstoredb-records.ts';
import { isBesideMessages } from './eventstoredb-search.ts';
import type { Tail } from './eventstoredb-tail.ts';

/** Events in a page: held by a slow consumer, and handled by a fast one in one transaction. */
const PAGE_EVENTS_MAX = 500;
/** Bytes of the log in a page (positions count bytes). Without this limit, many large events would be held at once. */
const PAGE_BYTES_MAX = 1024 * 1024;
/** A follower of few categories that found nothing waits this long for more events, rather than read each alone. */
const VAIN_WAIT_MS = 20;

/** Kept events begin at an existing event. A node that has none up to there has not received it yet. */
const LAGGING = 'the node that answers lags behind the others';

export interface SubscribeOptions {
  readonly connection: Pick<Connection, 'closing' | 'system'>;
  /** For followers behind the log's end: reads of everything must not delay selective reads. */
  readonly reader: Pick<Reader, 'after'>;
  /** For followers among them that exclude messages. */
  search(options: ReadAllOptions): Promise<Page>;
  readonly tail: Tail;
  readonly recovery: Recovery;
  readonly codec: EventCodec;
}

const asFollowed = (page: Page): FollowedPage => ({ ...page, isFull: page.events.length === PAGE_EVENTS_MAX });

/** Follows forever, each follower from its own position: from the shared tail, or by pages while behind it. */
export const createSubscribe = (options: SubscribeOptions): EventStore['subscribe'] => {
  const { reader, search, tail, recovery, codec } = options;
  const { system, closing } = options.connection;

  /** Searches for selective filters on the server. */
  const searchBehind = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage> => {
    const page = await search({ from, filter, limit: PAGE_EVENTS_MAX, signal });
    // An aborted search may have found nothing yet.
    if (page.position <= from && !signal.aborted) throw new NoAnswer(LAGGING);
    return asFollowed(page);
  };

  const readBehind = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage> => {
    if (isBesideMessages(filter)) return searchBehind(from, filter, signal);
    const found = await reader.after(from, PAGE_EVENTS_MAX, { bytesMax: PAGE_BYTES_MAX });
    const events = found.filter((event) => matches(filter, event)).map((event) => recordedEvent(codec, event));
    const [first, last] = [found[0], found.at(-1)];
    if (first === undefined || last === undefined) throw new NoAnswer(LAGGING);
    const isFull = found.length === PAGE_EVENTS_MAX || bytesBetween(first.position, last.position) >= PAGE_BYTES_MAX;
    return { events, position: last.position, isFull };
  };

  /** The next page. If nothing is available yet, an empty page at the same position. */
  const next = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage> => {
    const start = tail.start();
    if (start !== null && from < start) return readBehind(from, filter, signal);
    const page = tail.take(from, filter, PAGE_EVENTS_MAX);
    if (page !== null) return asFollowed(page);
    await untilAborted(signal, tail.more());
    return { events: [], position: from, isFull: false };
  };

  /** Like `next`, but recovers from a fault and returns null. @throws the fault if retrying is useless. */
  const steadfastNext = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage | null> => {
    try {
      return await next(from, filter, signal);
    } catch (error) {
      await recovery.recover(error, signal);
      return null;
    }
  };

  /** @throws {PositionNotInLog} if the log does not reach that far. */
  const requireReached = async (position: Position, signal: AbortSignal): Promise<void> => {
    // Every log has a beginning, and real servers never answer a read of zero events from there.
    for (let isReached = position === LOG_START || tail.holds(position); !isReached && !signal.aborted; ) {
      try {
        await reader.after(position, 0);
        isReached = true;
      } catch (error) {
        await recovery.recover(error, signal);
      }
    }
  };

  /** Waits after the second empty page in a row. */
  const createVainWait = (signal: AbortSignal): ((page: Page) => Promise<void>) => {
    let inVain = false;
    return async ({ events }) => {
      const isEmpty = events.length === 0;
      if (isEmpty && inVain) await system.sleep(VAIN_WAIT_MS, signal).catch(() => {}); // aborted
      inVain = isEmpty;
    };
  };

  async function* pages(after: Position, filter: Filter, signal: AbortSignal): AsyncGenerator<FollowedPage> {
    await requireReached(after, signal);
    const vainWait = createVainWait(signal);
    let position = after;
    while (!signal.aborted) {
      const page = await steadfastNext(position, filter, signal);
      if (page === null || page.position === position) continue;
      position = page.position;
      recovery.works();
      yield page; // handled once the consumer requests the next
      await vainWait(page);
    }
  }

  return async function* subscribe(after, filter, signal) {
    const leave = tail.join();
    try {
      yield* pages(after, filter, AbortSignal.any([signal, closing]));
    } finally {
      leave();
    }
  };
};
