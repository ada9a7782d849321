import type { EventCodec } from '../../src/domain/kernel/codec.ts';
import {
  type Append,
  type AppendResult,
  type EventStore,
  type Filter,
  type FollowedPage,
  LOG_START,
  type Page,
  type Position,
  passes,
  READ_STREAM_LIMIT,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  type StoredAppend,
  type StoredEvent,
  type StreamName,
  WrongExpectedRevision,
} from '../../src/domain/kernel/event-store.ts';
import type { Contents } from '../../src/domain/ports/contents.ts';
import { StoreUnavailable, type System } from '../../src/lib/async/async.ts';

export interface InMemoryEventStoreOptions {
  readonly codec: EventCodec;
  readonly system: Pick<System, 'uuid'>;
  /** Store for the contents of an append, written before its events. Without it an append with contents is a fault. */
  readonly contents?: Contents;
}

/**
 * One event as stored: JSON text, so that no object is shared with the writer and values that JSON cannot hold are
 * noticed.
 */
interface Row {
  readonly stream: StreamName;
  readonly revision: number;
  readonly position: Position;
  readonly stored: StoredEvent;
}

type Bounds = Pick<ReadAllOptions, 'limit' | 'bytesMax'>;

interface Scan {
  readonly events: readonly RecordedEvent[];
  readonly next: number;
}

/** Wide enough for every exact integer of JavaScript. */
const POSITION_DIGITS = 16;
/** Events in a page of a subscription, and so the most that a slow consumer holds. */
const PAGE_EVENTS_MAX = 500;

const positionOf = (count: number): Position => String(count).padStart(POSITION_DIGITS, '0');

const revisionBefore = (expected: Append['expected']): number => (expected === 'no-stream' ? -1 : expected);

/** An event log in an array: the reference model for other adapters, and the log of simulations. */
export const createInMemoryEventStore = ({ codec, system, contents }: InMemoryEventStoreOptions): EventStore => {
  const id = system.uuid();
  const log: Row[] = [];
  const streams = new Map<StreamName, Row[]>();
  const wakeUps = new Set<() => void>();
  let closed = false;

  const decoded = ({ stored, stream, revision, position }: Row): RecordedEvent => ({
    ...codec.decode(stored),
    stream,
    revision,
    position,
  });

  const headNow = (): Position => log.at(-1)?.position ?? LOG_START;

  const assertOpen = (): void => {
    if (closed) throw new StoreUnavailable('the event store is closed');
  };

  /** The answer to the first append of the same events, or a conflict. */
  const repeated = ({ stream, expected, events }: StoredAppend, existing: readonly Row[]): AppendResult => {
    const from = revisionBefore(expected) + 1;
    const rows = existing.slice(from, from + events.length);
    const last = rows.at(-1);
    const same = rows.length === events.length && rows.every((row, index) => row.stored.id === events[index]?.id);
    if (last !== undefined && same) return { revision: last.revision, position: last.position };
    throw new WrongExpectedRevision(stream, expected, existing.at(-1)?.revision ?? 'no-stream');
  };

  const write = (append: StoredAppend, existing: Row[]): AppendResult => {
    for (const stored of append.events) {
      const { stream } = append;
      const row: Row = { stream, revision: existing.length, position: positionOf(log.length + 1), stored };
      existing.push(row);
      log.push(row);
    }
    streams.set(append.stream, existing);
    for (const wake of wakeUps) wake();
    return { revision: existing.length - 1, position: headNow() };
  };

  const append = async (append: Append): Promise<AppendResult> => {
    assertOpen();
    const events = codec.encode(append.events, append.context, append);
    if (append.contents !== undefined && append.contents.length > 0) await putContents(append.contents);
    return appendStored({ stream: append.stream, expected: append.expected, events });
  };

  const appendStored = async (append: StoredAppend): Promise<AppendResult> => {
    assertOpen();
    const existing = streams.get(append.stream) ?? [];
    if (existing.length - 1 !== revisionBefore(append.expected)) return repeated(append, existing);
    return write(append, existing);
  };

  const putContents = (some: NonNullable<Append['contents']>): Promise<void> => {
    if (contents === undefined) throw new TypeError('this event store was given no place for contents');
    return contents.put(some);
  };

  const readStream = async (
    stream: StreamName,
    { from, direction = 'forwards', limit = READ_STREAM_LIMIT }: ReadStreamOptions = {},
  ): Promise<readonly RecordedEvent[]> => {
    assertOpen();
    const rows = streams.get(stream) ?? [];
    const chosen =
      direction === 'forwards' ? rows.slice(from ?? 0) : rows.slice(0, (from ?? rows.length) + 1).reverse();
    return chosen.slice(0, limit).map(decoded);
  };

  /** Number of events at or before the position. */
  const countTo = (position: Position): number => (position === LOG_START ? 0 : Number(position));

  /** Up to `limit` matching events from index `start` on, and the index at which the scan stopped. */
  const scan = (start: number, step: 1 | -1, filter: Filter | undefined, bounds: Bounds): Scan => {
    const { limit, bytesMax = Number.POSITIVE_INFINITY } = bounds;
    const events: RecordedEvent[] = [];
    let next = start;
    let bytes = 0;
    for (let row = log[next]; row !== undefined && events.length < limit && bytes < bytesMax; row = log[next]) {
      next += step;
      if (!passes(filter, row.stream)) continue;
      events.push(decoded(row));
      bytes += row.stored.data.length;
    }
    return { events, next };
  };

  const forwards = (from: Position, filter: Filter | undefined, bounds: Bounds): Page => {
    const { events, next } = scan(countTo(from), 1, filter, bounds);
    return { events, position: next === 0 ? LOG_START : positionOf(next) };
  };

  const backwards = (from: Position | undefined, filter: Filter | undefined, limit: number): Page => {
    const start = from === undefined ? log.length - 1 : countTo(from) - 2;
    const { events, next } = scan(start, -1, filter, { limit });
    return { events, position: next < 0 ? LOG_START : positionOf(next + 2) };
  };

  const readAll = async (options: ReadAllOptions): Promise<Page> => {
    const { from, direction = 'forwards', filter } = options;
    assertOpen();
    return direction === 'forwards'
      ? forwards(from ?? LOG_START, filter, options)
      : backwards(from, filter, options.limit);
  };

  /** Resolves at the next append, abort or close. */
  const nextWakeUp = async (signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    wakeUps.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    await promise;
    wakeUps.delete(wake);
    signal.removeEventListener('abort', wake);
  };

  async function* subscribe(after: Position, filter: Filter, signal: AbortSignal): AsyncGenerator<FollowedPage> {
    let position = after;
    while (!signal.aborted && !closed) {
      const page = forwards(position, filter, { limit: PAGE_EVENTS_MAX });
      if (page.position > position) {
        position = page.position;
        yield { ...page, isFull: page.events.length === PAGE_EVENTS_MAX };
      } else {
        await nextWakeUp(signal);
      }
    }
  }

  return {
    isAuthentic: codec.isAuthentic,
    seals: codec.seals,
    logId: async () => id,
    look: async () => ({ logId: id, head: headNow() }),
    append,
    appendStored,
    readStream,
    readAll,
    head: async () => headNow(),
    subscribe,
    close: async () => {
      closed = true;
      for (const wake of wakeUps) wake();
    },
  };
};
