import type { EventCodec } from '../../domain/codec.ts';
import {
  type EventStore,
  type Filter,
  type FollowedPage,
  LOG_START,
  type Page,
  type Position,
  type ReadAllOptions,
} from '../../domain/ports/event-store.ts';
import { untilAborted } from '../../lib/async/async.ts';
import type { Connection } from './eventstoredb-client.ts';
import { NoAnswer, type Recovery } from './eventstoredb-faults.ts';
import { bytesBetween } from './eventstoredb-protocol-read.ts';
import type { Reader } from './eventstoredb-read.ts';
import { matches, recordedEvent } from './eventstoredb-records.ts';
import { isBesideMessages } from './eventstoredb-search.ts';
import type { Tail } from './eventstoredb-tail.ts';

/** Events in a page: what a slow consumer holds, and what a consumer can handle in one transaction. */
const PAGE_EVENTS_MAX = 500;
/** Bytes of the log in it (positions count bytes): many large events would otherwise be held at once. */
const PAGE_BYTES_MAX = 1024 * 1024;
/** A follower of few categories that found nothing waits this long for more events, rather than read each alone. */
const VAIN_WAIT_MS = 20;

/** What is kept begins at an event: a node that has nothing up to there has not been sent it yet. */
const LAGGING = 'the node that answers lags behind the others';

export interface SubscribeOptions {
  readonly connection: Pick<Connection, 'closing' | 'system'>;
  /** For followers that are behind the log's end: so that what many want does not delay what few want. */
  readonly reader: Pick<Reader, 'after'>;
  /** For those of them that see nothing of messages. */
  search(options: ReadAllOptions): Promise<Page>;
  readonly tail: Tail;
  readonly recovery: Recovery;
  readonly codec: EventCodec;
}

const asFollowed = (page: Page): FollowedPage => ({ ...page, isFull: page.events.length === PAGE_EVENTS_MAX });

/** Follows without end, each follower from its own position: from the shared tail, or by pages while behind it. */
export const createSubscribe = (options: SubscribeOptions): EventStore['subscribe'] => {
  const { reader, search, tail, recovery, codec } = options;
  const { system, closing } = options.connection;

  /** Of what few want, as the server finds it. */
  const searchBehind = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage> => {
    const page = await search({ from, filter, limit: PAGE_EVENTS_MAX, signal });
    // Aborted, it may have found nothing yet.
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

  /** The next page; one that has not moved where there is none yet. */
  const next = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage> => {
    const start = tail.start();
    if (start !== null && from < start) return readBehind(from, filter, signal);
    const page = tail.take(from, filter, PAGE_EVENTS_MAX);
    if (page !== null) return asFollowed(page);
    await untilAborted(signal, tail.more());
    return { events: [], position: from, isFull: false };
  };

  /** As `next`, again and again until that answers. @throws what makes it vain to go on. */
  const steadfastNext = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage | null> => {
    try {
      return await next(from, filter, signal);
    } catch (error) {
      await recovery.recover(error, signal);
      return null;
    }
  };

  /** @throws {PositionNotInLog} the log does not reach that far. */
  const requireReached = async (position: Position, signal: AbortSignal): Promise<void> => {
    // Every log has a beginning; and real servers never answer a read from there of no events.
    for (let isReached = position === LOG_START || tail.holds(position); !isReached && !signal.aborted; ) {
      try {
        await reader.after(position, 0);
        isReached = true;
      } catch (error) {
        await recovery.recover(error, signal);
      }
    }
  };

  /** Waits after the second page in a row that held nothing. */
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
      yield page; // handled once the consumer asks on
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
