import {
  type AllStreamResolvedEvent,
  BACKWARDS,
  END,
  FORWARDS,
  type ReadRevision,
  type ResolvedEvent,
  START,
  type StreamingRead,
  StreamNotFoundError,
} from '@eventstore/db-client';
import type { EventCodec } from '../../domain/codec.ts';
import {
  type EventStore,
  type Filter,
  LOG_START,
  type Page,
  type Position,
  PositionNotInLog,
  READ_STREAM_LIMIT,
  type RecordedEvent,
} from '../../domain/ports/event-store.ts';
import type { Connection } from './eventstoredb-connection.ts';
import { readFault } from './eventstoredb-faults.ts';
import { bytesBetween, parsePosition } from './eventstoredb-position.ts';
import { isOurs, matches, type RawEvent, rawEvent, recordedEvent } from './eventstoredb-records.ts';
import { whileAnswering } from './eventstoredb-time-out.ts';

/** Events in one call: more and a call of large events runs into its time-out, fewer and there are more round trips. */
const CHUNK_EVENTS_MAX = 2000;
/** A search that found too little looks at this many times more events in its next call. */
const CHUNK_GROWTH = 4;

type Resolved = Parameters<typeof rawEvent>[0];
type Reading = StreamingRead<ResolvedEvent> | StreamingRead<AllStreamResolvedEvent>;

/** What ends a call before it has given everything: the server is told to stop. */
export interface Enough {
  readonly signal?: AbortSignal | undefined;
  /** So many bytes of the log. */
  readonly bytesMax?: number;
}

/** All that the call gives, or gave until it was enough. A server is retryWhileAway heard for as long as something comes. */
const collect = (
  { slots, timeOut }: Connection,
  open: () => Reading,
  { signal, bytesMax = Number.POSITIVE_INFINITY }: Enough,
): Promise<readonly RawEvent[]> =>
  slots.run(async () => {
    const events: RawEvent[] = [];
    if (signal?.aborted === true) return events;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const reading = open();
    const stop = (): void => {
      resolve();
      reading.cancel().catch(() => {});
    };
    signal?.addEventListener('abort', stop);
    reading.on('data', (resolved: Resolved) => {
      const event = rawEvent(resolved);
      if (event === undefined) return;
      events.push(event);
      if (bytesBetween(events[0]?.position ?? event.position, event.position) >= bytesMax) stop();
    });
    reading.on('end', resolve);
    reading.on('error', reject); // stays: the client emits an error twice
    try {
      await whileAnswering(timeOut, promise, () => events.length);
    } catch (error) {
      reading.cancel().catch(() => {}); // there may be no call to cancel yet
      throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
    return events.slice();
  });

export interface ForwardsBounds {
  readonly limit: number;
  readonly lookMax: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ForwardsPage extends Page {
  /** Nothing was left unread for `lookMax` alone. */
  readonly isComplete: boolean;
}

export interface Reader extends Pick<EventStore, 'readStream' | 'readAll' | 'head'> {
  /** Up to `count` events strictly after the position, ours or not; fewer if that is enough. @throws {PositionNotInLog} */
  after(position: Position, count: number, enough?: Enough): Promise<readonly RawEvent[]>;
  /** As `readAll` forwards, but looks at no more than `lookMax` events. */
  forwards(from: Position, filter: Filter | undefined, bounds: ForwardsBounds): Promise<ForwardsPage>;
  /** Events of any stream, not decoded. */
  rawStream(stream: string): Promise<readonly RawEvent[]>;
}

/** The server begins with the event at the position itself; where there is none, the log is shorter than that. */
const beyond = (events: readonly RawEvent[], position: Position, count: number): readonly RawEvent[] => {
  const [first] = events;
  if (first === undefined || first.position < position) throw new PositionNotInLog();
  return first.position === position ? events.slice(1) : events.slice(0, count);
};

export const createReader = (connection: Connection, codec: EventCodec): Reader => {
  const { client, hosts } = connection;

  const call = async (open: () => Reading, enough: Enough = {}): Promise<readonly RawEvent[]> => {
    connection.assertOpen();
    try {
      const events = await collect(connection, open, enough);
      connection.assertOpen(); // closing ends calls under way as if they had given everything
      return events;
    } catch (error) {
      if (error instanceof StreamNotFoundError) return [];
      throw readFault(error, hosts);
    }
  };

  const after: Reader['after'] = async (position, count, enough = {}) => {
    const open = { direction: FORWARDS, requiresLeader: true } as const;
    if (position === LOG_START)
      return call(() => client.readAll({ ...open, fromPosition: START, maxCount: count }), enough);
    const fromPosition = parsePosition(position);
    const events = await call(() => client.readAll({ ...open, fromPosition, maxCount: count + 1 }), enough);
    return events.length === 0 && enough.signal?.aborted === true ? events : beyond(events, position, count);
  };

  const before = async (position: Position | undefined, count: number): Promise<readonly RawEvent[]> => {
    if (position === LOG_START) return [];
    const fromPosition = position === undefined ? END : parsePosition(position);
    const open = { direction: BACKWARDS, requiresLeader: true } as const;
    const events = await call(() => client.readAll({ ...open, fromPosition, maxCount: count + 1 }));
    return events.filter((event) => position === undefined || event.position < position).slice(0, count);
  };

  /** Visits events in calls that grow, until `visit` has seen enough or there are no more. */
  const scan = async (
    next: (from: Position | undefined, count: number) => Promise<readonly RawEvent[]>,
    start: Position | undefined,
    count: number,
    visit: (event: RawEvent) => boolean,
  ): Promise<void> => {
    let from = start;
    for (let chunk = Math.min(count, CHUNK_EVENTS_MAX); ; chunk = Math.min(chunk * CHUNK_GROWTH, CHUNK_EVENTS_MAX)) {
      const events = await next(from, chunk);
      if (events.some(visit) || events.length < chunk) return;
      from = events.at(-1)?.position;
    }
  };

  /** Collects up to `limit` events; the position is that of the last event of ours that was looked at. */
  const gather = (filter: Filter | undefined, { limit, lookMax }: ForwardsBounds, start: Position) => {
    const events: RecordedEvent[] = [];
    let position = start;
    let looked = 0;
    const visit = (event: RawEvent): boolean => {
      looked += 1;
      if (isOurs(event)) position = event.position;
      if (matches(filter, event)) events.push(recordedEvent(codec, event));
      return events.length >= limit || looked >= lookMax;
    };
    const isFull = (): boolean => events.length >= limit;
    return { visit, page: (): Page => ({ events, position }), isFull, isComplete: () => isFull() || looked < lookMax };
  };

  const forwards: Reader['forwards'] = async (from, filter, bounds) => {
    const found = gather(filter, bounds, from);
    const next = (position = LOG_START, count = 0) => after(position, count, { signal: bounds.signal });
    await scan(next, from, bounds.limit, found.visit);
    return { ...found.page(), isComplete: found.isComplete() };
  };

  const backwards = async (from: Position | undefined, filter: Filter | undefined, limit: number): Promise<Page> => {
    const found = gather(filter, { limit, lookMax: Number.POSITIVE_INFINITY }, from ?? LOG_START);
    await scan(before, from, limit, found.visit);
    return found.isFull() ? found.page() : { ...found.page(), position: LOG_START };
  };

  return {
    after,
    forwards,

    rawStream: (stream) => call(() => client.readStream(stream, { requiresLeader: true })),

    readStream: async (stream, { from, direction = 'forwards', limit = READ_STREAM_LIMIT } = {}) => {
      const [start, way] = direction === 'forwards' ? ([START, FORWARDS] as const) : ([END, BACKWARDS] as const);
      const fromRevision: ReadRevision = from === undefined ? start : BigInt(from);
      const options = { direction: way, fromRevision, maxCount: limit, requiresLeader: true };
      return (await call(() => client.readStream(stream, options))).map((event) => recordedEvent(codec, event));
    },

    readAll: async ({ from, direction = 'forwards', filter, limit, signal }) => {
      if (limit <= 0) return { events: [], position: from ?? LOG_START };
      if (direction === 'backwards') return backwards(from, filter, limit);
      const bounds = { limit, lookMax: Number.POSITIVE_INFINITY, signal };
      const { events, position } = await forwards(from ?? LOG_START, filter, bounds);
      return { events, position };
    },

    head: async () => {
      let position = LOG_START;
      await scan(before, undefined, 1, (event) => {
        if (isOurs(event)) position = event.position;
        return position !== LOG_START;
      });
      return position;
    },
  };
};
