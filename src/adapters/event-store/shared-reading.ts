import {
  heldBytes,
  LOG_START,
  type Page,
  type Position,
  passes,
  type ReadAllOptions,
  type RecordedEvent,
} from '../../domain/kernel/event-store.ts';
import { isBeside } from './postgres-read.ts';

type Read = (request: ReadAllOptions) => Promise<Page>;

/** Events kept, some 10 MB. Fewer force paused followers to read on their own, more is unused memory. */
const KEPT_EVENTS_MAX = 5_000;
/** The same in bytes, for large events. */
const KEPT_BYTES_MAX = 16_000_000;
/** Share of kept events dropped at a time. Each drop moves all remaining ones. */
const DROPPED_SHARE = 5;
/** Followers further ahead than this are not waited for: the others are behind, and read on their own. */
const AHEAD_EVENTS_MAX = 1_000;

const bytesOfAll = (events: readonly RecordedEvent[]): number =>
  events.reduce((bytes, event) => bytes + heldBytes(event), 0);

/** All events after `start`, up to and including `end`. */
interface Kept {
  start: Position;
  end: Position;
  bytes: number;
  readonly events: RecordedEvent[];
}

const isTooMuch = ({ events, bytes }: Kept): boolean =>
  events.length > 1 && (events.length > KEPT_EVENTS_MAX || bytes > KEPT_BYTES_MAX);

/** Index of the first event after a position. */
const indexAfter = (events: readonly RecordedEvent[], position: Position): number => {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.position ?? '') > position) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** Events that fit into a page. As in the log, the last one may exceed its byte limit. */
const fitting = (
  events: readonly RecordedEvent[],
  first: number,
  { limit, bytesMax = Number.POSITIVE_INFINITY }: ReadAllOptions,
): readonly RecordedEvent[] => {
  let [end, bytes] = [first, 0];
  for (; end < Math.min(events.length, first + limit) && bytes < bytesMax; end += 1) {
    const event = events[end];
    if (event !== undefined) bytes += heldBytes(event);
  }
  return events.slice(first, end);
};

/** Reads shared by followers near the head. */
export interface SharedReading {
  readonly read: Read;
  /**
   * Adds events that this process has just appended. If they follow the kept events without a gap, they are never read
   * from the database. Positions have no gaps, so no event of another process lies in between.
   * @param decode is called only if they are kept.
   */
  take(first: Position, decode: () => readonly RecordedEvent[]): void;
}

/**
 * Reading for all of a process's followers that see messages. Near the head they share one query and one decoding of
 * each event, whatever their filters and speeds, and events of this process need neither. A follower that is behind, or
 * excludes messages, reads on its own.
 * @param read reads a page after a position, without a filter if it is shared.
 */
export const createSharedReading = (read: Read): SharedReading => {
  /** null: no follower yet. */
  let kept: Kept | null = null;
  let fetching: { readonly from: Position; readonly done: Promise<void> } | null = null;

  const keep = (page: Page): void => {
    if (kept === null) return;
    const { events } = kept;
    for (const event of page.events) events.push(event);
    kept.bytes += bytesOfAll(page.events);
    kept.end = page.position;
    while (isTooMuch(kept)) {
      const dropped = events.splice(0, Math.ceil(events.length / DROPPED_SHARE));
      kept.bytes -= bytesOfAll(dropped);
      kept.start = dropped.at(-1)?.position ?? kept.start;
    }
  };

  const fetch = async (from: Position, { limit, bytesMax }: ReadAllOptions): Promise<void> => {
    const page = await read({ from, limit, ...(bytesMax !== undefined && { bytesMax }) });
    if (kept?.end === from) keep(page); // else everybody has gone on from elsewhere meanwhile
  };

  const fetchShared = (from: Position, request: ReadAllOptions): Promise<void> => {
    if (fetching?.from === from) return fetching.done;
    const done = fetch(from, request).finally(() => {
      if (fetching?.from === from) fetching = null;
    });
    fetching = { from, done };
    return done;
  };

  /** Fetches until there is an event after a position, or nothing more to fetch. */
  const fetchBeyond = async (from: Position, request: ReadAllOptions): Promise<void> => {
    for (let end = kept?.end; end !== undefined && end <= from; end = kept?.end) {
      await fetchShared(end, request);
      if (kept?.end === end) return;
    }
  };

  const join = (from: Position): void => {
    const isFarAhead = kept !== null && Number(from) - Number(kept.end) > AHEAD_EVENTS_MAX;
    if (kept === null || isFarAhead) kept = { start: from, end: from, bytes: 0, events: [] };
  };

  /** null: the events after the position are no longer kept. */
  const atHand = (from: Position, request: ReadAllOptions): Page | null => {
    if (kept === null || from < kept.start) return null;
    const following = indexAfter(kept.events, from);
    const seen = fitting(kept.events, following, request);
    const isAll = following + seen.length === kept.events.length;
    const reached = isAll ? kept.end : (seen.at(-1)?.position ?? from);
    return {
      events: seen.filter(({ stream }) => passes(request.filter, stream)),
      position: reached > from ? reached : from,
    };
  };

  return {
    read: async (request) => {
      if (isBeside(request.filter ?? {})) return read(request);
      const { from = LOG_START } = request;
      join(from);
      await fetchBeyond(from, request);
      return atHand(from, request) ?? read(request);
    },
    take: (first, decode) => {
      if (kept === null || Number(first) !== Number(kept.end) + 1) return;
      const events = decode();
      keep({ events, position: events.at(-1)?.position ?? kept.end });
    },
  };
};
