import { createSemaphore, type Semaphore } from '../async/async.ts';
import {
  type EventCodec,
  type EventStore,
  type Filter,
  heldBytes,
  LOG_START,
  type Page,
  type Position,
  PositionNotInLog,
  passes,
  READ_STREAM_LIMIT,
  type RecordedEvent,
  type StreamName,
} from './event-log.ts';
import { type Connection, NoAnswer, readFault, type Visit, visitAll } from './eventstoredb-client.ts';
import { bytesBetween, type CountedQuery, type RawEvent } from './eventstoredb-protocol.ts';

/** Identifies our events among the server's, and decodes them. */

/** Stream of the log's own id. No reader of events ever sees it. */
export const LOG_ID_STREAM = 'outboxLog-identity';

/** Matches canonical JSON, in which metadata is written. */
const STAMP = /"schemaVersion":\d/;

/**
 * The codec stamps its version, which distinguishes events of this log from the server's own and from those of other
 * applications.
 */
const isOurs = ({ stream, metadata }: RawEvent): boolean =>
  !stream.startsWith('$') && stream !== LOG_ID_STREAM && STAMP.test(metadata);

export const matches = (filter: Filter | undefined, event: RawEvent): boolean =>
  isOurs(event) && passes(filter, event.stream as StreamName);

/** @throws {UnknownEvent} @throws {MalformedEvent} like the codec. */
export const recordedEvent = (codec: EventCodec, raw: RawEvent): RecordedEvent => ({
  ...codec.decode({ id: raw.id, type: raw.type, data: raw.data, metadata: raw.metadata }),
  stream: raw.stream as StreamName, // names of our streams are made by us
  revision: raw.revision,
  position: raw.position,
});

/**
 * Reads of streams and of the whole log. Events are checked as they arrive, and a call ends as soon as it has returned
 * enough, so that no more than the requested amount is held. Reads go to a cluster's leader: they see all earlier
 * appends.
 */

/**
 * Concurrent reads. A server works on few at a time: sixty-four of them delayed each other for three seconds on two
 * cores. A connection carries 100 calls, and further calls hang without an error. Fewer costs throughput if the server
 * is far away.
 */
const READS_MAX = 16;
/**
 * Events requested in one call. A search that found too little requests `CALL_GROWTH` times as many in its next call.
 */
const CALL_EVENTS_MAX = 10_000;
const CALL_GROWTH = 4;

/** Conditions that end a read early. */
interface Enough {
  readonly signal?: AbortSignal | undefined;
  /** Maximum bytes of the log. */
  readonly bytesMax?: number;
}

interface ForwardsBounds {
  readonly limit: number;
  readonly lookMax: number;
  /** Bytes of data. Default: any number. */
  readonly bytesMax?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface ForwardsPage extends Page {
  /** The page did not stop because of `lookMax`. */
  readonly isComplete: boolean;
}

export interface Reader extends Pick<EventStore, 'readStream' | 'readAll' | 'head'> {
  /**
   * Up to `count` events strictly after the position, ours or not; fewer under the `enough` conditions. @throws
   * {PositionNotInLog}
   */
  after(position: Position, count: number, enough?: Enough): Promise<readonly RawEvent[]>;
  /** Like `readAll` forwards, but reads at most `lookMax` events. */
  forwards(from: Position, filter: Filter | undefined, bounds: ForwardsBounds): Promise<ForwardsPage>;
  /** Events of any stream, not decoded. */
  rawStream(stream: string): Promise<readonly RawEvent[]>;
}

const noSlot = (): NoAnswer => new NoAnswer('too many reads wait for the event store');

export const createReader = (connection: Connection, codec: EventCodec): Reader => {
  const { callTimeoutMs, server } = connection;
  const slots: Semaphore = createSemaphore({ capacity: READS_MAX, timeout: { ms: callTimeoutMs, error: noSlot } });

  const call = async (query: CountedQuery, visit: Visit, signal?: AbortSignal): Promise<void> => {
    connection.assertOpen();
    try {
      await slots.run(() => visitAll(connection, query, visit, signal));
    } catch (error) {
      throw readFault(error, server);
    }
    connection.assertOpen(); // closing may end open calls as if they were complete
  };

  /** Visits up to `count` events strictly after a position. @returns their number. @throws {PositionNotInLog} */
  const visitAfter = async (from: Position, count: number, visit: Visit, signal?: AbortSignal): Promise<number> => {
    // The server starts with the event at the position itself. If that event is missing, the log is shorter than the
    // position.
    let isInLog = from === LOG_START;
    let seen = 0;
    const visitNext: Visit = (event) => {
      isInLog ||= event.position >= from;
      if (event.position <= from) return !isInLog;
      if (seen === count) return true;
      seen += 1;
      return visit(event);
    };
    await call({ all: from, way: 'forwards', count: isInLog ? count : count + 1 }, visitNext, signal);
    if (!isInLog && signal?.aborted !== true) throw new PositionNotInLog();
    return seen;
  };

  /** The same strictly before a position. Undefined: from the end. */
  const visitBefore = async (from: Position | undefined, count: number, visit: Visit): Promise<number> => {
    if (from === LOG_START) return 0;
    let seen = 0;
    const visitNext: Visit = (event) => {
      if (from !== undefined && event.position >= from) return false;
      if (seen === count) return true;
      seen += 1;
      return visit(event);
    };
    const asked = from === undefined ? count : count + 1; // the event at the position may be included
    await call({ all: from ?? 'end', way: 'backwards', count: asked }, visitNext);
    return seen;
  };

  /** Visits events in growing calls, until a visit has enough or there are no more events. */
  const scan = async <From extends Position | undefined>(
    next: (from: From | Position, count: number, visit: Visit) => Promise<number>,
    start: From,
    count: number,
    visit: Visit,
  ): Promise<void> => {
    let from: From | Position = start;
    let isEnough = false;
    const visitOne: Visit = (event) => {
      from = event.position;
      isEnough = visit(event);
      return isEnough;
    };
    for (let asked = Math.min(count, CALL_EVENTS_MAX); ; asked = Math.min(asked * CALL_GROWTH, CALL_EVENTS_MAX)) {
      const seen = await next(from, asked, visitOne);
      if (isEnough || seen < asked) return;
    }
  };

  /** Collects up to `limit` events. The position is that of the last event of ours that was read. */
  const createPage = (filter: Filter | undefined, bounds: ForwardsBounds, start: Position) => {
    const { limit, lookMax, bytesMax } = bounds;
    const events: RecordedEvent[] = [];
    let position = start;
    let looked = 0;
    let bytes = 0;
    const isFull = (): boolean => events.length >= limit || (bytesMax !== undefined && bytes >= bytesMax);
    const add = (event: RawEvent): void => {
      const recorded = recordedEvent(codec, event);
      events.push(recorded);
      bytes += heldBytes(recorded);
    };
    const visit: Visit = (event) => {
      looked += 1;
      if (isOurs(event)) position = event.position;
      if (matches(filter, event)) add(event);
      return isFull() || looked >= lookMax;
    };
    return { visit, page: (): Page => ({ events, position }), isFull, isComplete: () => isFull() || looked < lookMax };
  };

  const forwards: Reader['forwards'] = async (from, filter, bounds) => {
    const found = createPage(filter, bounds, from);
    await scan<Position>(
      (at, count, visit) => visitAfter(at, count, visit, bounds.signal),
      from,
      bounds.limit,
      found.visit,
    );
    return { ...found.page(), isComplete: found.isComplete() };
  };

  const backwards = async (from: Position | undefined, filter: Filter | undefined, limit: number): Promise<Page> => {
    const found = createPage(filter, { limit, lookMax: Number.POSITIVE_INFINITY }, from ?? LOG_START);
    await scan<Position | undefined>(visitBefore, from, limit, found.visit);
    return found.isFull() ? found.page() : { ...found.page(), position: LOG_START };
  };

  const collect = async (query: CountedQuery): Promise<readonly RawEvent[]> => {
    const events: RawEvent[] = [];
    await call(query, (event) => events.push(event) < 0);
    return events;
  };

  return {
    forwards,

    after: async (position, count, { signal, bytesMax = Number.POSITIVE_INFINITY } = {}) => {
      const events: RawEvent[] = [];
      const visit: Visit = (event) => {
        events.push(event);
        return bytesBetween(events[0]?.position ?? event.position, event.position) >= bytesMax;
      };
      await visitAfter(position, count, visit, signal);
      return events;
    },

    rawStream: (stream) => collect({ stream, from: 'start', way: 'forwards', count: READ_STREAM_LIMIT }),

    readStream: async (stream, { from, direction = 'forwards', limit = READ_STREAM_LIMIT } = {}) => {
      const start = from ?? (direction === 'forwards' ? 'start' : 'end');
      const events = await collect({ stream, from: start, way: direction, count: limit });
      return events.map((event) => recordedEvent(codec, event));
    },

    readAll: async ({ from, direction = 'forwards', filter, limit, bytesMax, signal }) => {
      if (limit <= 0) return { events: [], position: from ?? LOG_START };
      if (direction === 'backwards') return backwards(from, filter, limit);
      const bounds = { limit, lookMax: Number.POSITIVE_INFINITY, bytesMax, signal };
      const { events, position } = await forwards(from ?? LOG_START, filter, bounds);
      return { events, position };
    },

    head: async () => {
      let position = LOG_START;
      await scan<Position | undefined>(visitBefore, undefined, 1, (event) => {
        if (isOurs(event)) position = event.position;
        return position !== LOG_START;
      });
      return position;
    },
  };
};
