import type { EventCodec } from '../../domain/kernel/codec.ts';
import {
  type Filter,
  LOG_START,
  type Page,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
} from '../../domain/kernel/event-store.ts';
import { ENDED } from '../../lib/async/async.ts';
import type { Connection } from './eventstoredb-client.ts';
import { NoAnswer, type Recovery } from './eventstoredb-faults.ts';
import { type Bounds, collect, eventsOf, type Feed, openFeed, positionOf } from './eventstoredb-feed.ts';
import { bytesBetween, type RawEvent } from './eventstoredb-protocol-read.ts';
import type { Reader } from './eventstoredb-read.ts';
import { matches, recordedEvent } from './eventstoredb-records.ts';

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
const QUIET_MS = 1_000;
/** How long a reader waits for the subscription to reach the head. After that it reads on its own. */
const BRING_MS_MAX = 250;
export interface TailOptions {
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
interface Kept {
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

const isTooMuch = ({ start, end, events }: Kept): boolean =>
  events.length > KEPT_EVENTS_MAX || (start !== LOG_START && bytesBetween(start, end) > KEPT_BYTES_MAX);

export const createTail = ({ connection, reader, codec, recovery }: TailOptions): Tail => {
  const { system, closing } = connection;
  let kept: Kept | null = null;
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

  const keep = (into: Kept, events: readonly RawEvent[], end: Position): void => {
    for (const raw of events) into.events.push({ raw, recorded: null });
    into.end = end;
    while (into.events.length > 1 && isTooMuch(into)) {
      const dropped = into.events.splice(0, Math.ceil(into.events.length / DROPPED_SHARE));
      into.start = dropped.at(-1)?.raw.position ?? into.start;
    }
  };

  /** Fails if the subscription was silent twice in a row and behind the same head both times. @throws {NoAnswer} */
  const assertNotSilent = async ({ end }: Kept): Promise<void> => {
    const head = await reader.head();
    if (missed !== null && missed > end) throw new NoAnswer(`a subscription was silent for ${QUIET_MS} ms`);
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
    await from.arrival(QUIET_MS);
    if (system.monotonicMs() - beganMs >= QUIET_MS - 1) await assertNotSilent(into);
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
  const select = ({ events, end }: Kept, from: Position, filter: Filter | undefined, limit: number): Page => {
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
