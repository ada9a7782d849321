import type { Pool } from 'pg';
import type { EventCodec } from '../../domain/kernel/codec.ts';
import {
  EventsDetached,
  type Filter,
  heldBytes,
  LOG_START,
  type Page,
  type Position,
  PositionNotInLog,
  READ_STREAM_LIMIT,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  type StreamName,
} from '../../domain/kernel/event-store.ts';
import { type Batcher, createBatcher, eachPausing, inTurns, type Pausing, type System } from '../../lib/async/async.ts';
import {
  DECODED_BYTES_MAX,
  EVENT_COLUMNS,
  integerArray,
  readFailure,
  type TextRow,
  textArray,
  toEvent,
  toEvents,
  toHead,
  toPosition,
} from './postgres-rows.ts';

/** Reads of the log in PostgreSQL: pages of the whole log, and streams, many of which share a query. */

const BIGINT_MAX = '9223372036854775807';
/** The category of nearly every event. Reads without it use an index that excludes it. */
const BULK_CATEGORY = 'message';

const pageColumns = EVENT_COLUMNS.map((column) => `p.${column}`).join(', ');

interface Conditions {
  readonly name: string;
  readonly sql: string;
}

const ALL: Conditions = { name: 'all', sql: '' };
const CATEGORIES: Conditions = { name: 'categories', sql: 'and e.category = any ($4::text[])' };
/** Spelled like the predicate of the index `events_beside_messages`, so that the planner uses it. */
const BESIDE_MESSAGES: Conditions = { name: 'beside-messages', sql: `${CATEGORIES.sql} and e.category <> 'message'` };

/**
 * A page and the log's head in one snapshot, so that an empty page may move on to the head. The page is cut off before
 * its data exceeds $3 bytes, but always contains its first event. (As measured with 600-byte events, the sum of bytes
 * costs a tenth, the head nothing.) Without `offset 0` the planner would compute the head for each row: 56 µs a
 * message.
 */
const pageSql = (conditions: Conditions, compare: '>' | '<', order: 'asc' | 'desc'): string => `
  select h.head, h.detached, ${pageColumns}
  from (
    select event_log.head() as head, (
      select ${order === 'asc' ? 'min(d.first)' : 'max(d.last)'} from event_log.partitions d
      where d.detached_at is not null and ${order === 'asc' ? 'd.last' : 'd.first'} ${compare} $1
    ) as detached
    offset 0
  ) h
  left join lateral (
    select c.*, sum(octet_length(c.data)) over (order by c.position ${order} rows unbounded preceding) - octet_length(c.data) as bytes_before
    from (
      select * from event_log.events e
      where e.position ${compare} $1 ${conditions.sql}
      order by e.position ${order} limit $2
    ) c
  ) p on p.bytes_before < $3
  order by p.position ${order}`;

/** True if the filter excludes the category that makes up nearly all of the log. */
export const isBeside = ({ categories }: Filter): boolean => categories?.includes(BULK_CATEGORY) === false;

const conditionsFor = (filter: Filter): Conditions => {
  if (filter.categories === undefined) return ALL;
  return isBeside(filter) ? BESIDE_MESSAGES : CATEGORIES;
};

const statementFor = (conditions: Conditions, backwards: boolean): { readonly name: string; readonly text: string } =>
  backwards
    ? { name: `event-log-read-all-backwards-${conditions.name}`, text: pageSql(conditions, '<', 'desc') }
    : { name: `event-log-read-all-${conditions.name}`, text: pageSql(conditions, '>', 'asc') };

const startOf = (from: Position | undefined, backwards: boolean): string => {
  if (from === undefined && backwards) return BIGINT_MAX;
  return from === undefined || from === LOG_START ? '0' : from;
};

/** @param detached the next position in this direction whose events were detached. @param reached end of the page. */
const requireAttached = (detached: Position, reached: Position, backwards: boolean): void => {
  if (backwards ? detached < reached : detached > reached) return;
  throw new EventsDetached(`the event at position ${detached}`);
};

/** Position that an empty page reached. */
const emptyUntil = (head: Position, from: Position, backwards: boolean): Position => {
  if (backwards) return LOG_START;
  if (from > head) throw new PositionNotInLog();
  return head;
};

const readRows = (pool: Pool, request: ReadAllOptions, backwards: boolean): Promise<readonly TextRow[]> => {
  const { from, filter = {}, limit, bytesMax = BIGINT_MAX } = request;
  const values = [startOf(from, backwards), limit, bytesMax];
  const withCategories = filter.categories === undefined ? values : [...values, filter.categories];
  return query(pool, statementFor(conditionsFor(filter), backwards), withCategories);
};

/** @throws {StoreUnavailable} */
export const readPage = async (pool: Pool, codec: EventCodec, request: ReadAllOptions): Promise<Page> => {
  const { from, limit } = request;
  if (request.signal?.aborted === true) return { events: [], position: from ?? LOG_START };
  const backwards = request.direction === 'backwards';
  const rows = await readRows(pool, request, backwards);
  const [head, detached] = rows[0] ?? [];
  const found = rows.filter((row) => row[2] !== null);
  const events = await inTurns(toEvents(codec, found, 2));
  const position = events.at(-1)?.position ?? emptyUntil(toHead(head), from ?? LOG_START, backwards);
  // A backwards page that is not full has reached the start of the log.
  const reached = backwards && events.length < limit ? LOG_START : position;
  if (detached != null) requireAttached(toPosition(detached), reached, backwards);
  return { events, position };
};

const query = async (
  pool: Pool,
  statement: { readonly name: string; readonly text: string },
  values: unknown[],
): Promise<readonly TextRow[]> => {
  try {
    return (await pool.query<(string | null)[]>({ ...statement, rowMode: 'array', values })).rows;
  } catch (error) {
    throw readFailure(error);
  }
};

/** One read runs while the answer of the other is decoded. More would only make them smaller. */
const READS_IN_FLIGHT_MAX = 2;
/** Streams are short: some thousand rows. Larger makes the first reader of a group wait for the last one's rows. */
const GROUP_STREAMS_MAX = 256;
/** Limit of waiting reads, like that of appends: at worst a second's work. */
const WAITING_READS_MAX = 10_000;
const INTEGER_MAX = 2_147_483_647;

const streamColumns = EVENT_COLUMNS.map((column) => `e.${column}`).join(', ');

/**
 * Reads many streams in one query, since workers read the streams of hundreds of messages at once: an index scan
 * (stream, revision) for each, in the partitions that contain the stream. The stream's last revision shows whether
 * events are missing.
 */
const readStreams = (name: string, comparison: '>=' | '<=', order: 'asc' | 'desc') => ({
  name,
  text: `
    select m.ord, h.revision, ${streamColumns}
    from unnest($1::text[], $2::integer[], $3::integer[]) with ordinality as m (stream, start, size, ord)
    join event_log.streams h on h.stream = m.stream collate "C"
    left join lateral (
      select * from event_log.events s
      where s.stream = m.stream collate "C" and s.revision ${comparison} m.start
        and s.position >= h.first_position and s.position <= h.last_position
      order by s.revision ${order} limit m.size
    ) e on true
    order by m.ord, e.revision ${order}`,
});
const FORWARDS = readStreams('event-log-read-streams', '>=', 'asc');
const BACKWARDS = readStreams('event-log-read-streams-backwards', '<=', 'desc');

interface StreamRead {
  readonly stream: StreamName;
  readonly from: number;
  readonly limit: number;
}

type StreamRows = readonly TextRow[];

/** Number of events that a read finds if none are missing. */
const expectedCount = ({ from, limit }: StreamRead, last: number, backwards: boolean): number =>
  Math.min(limit, Math.max(0, backwards ? Math.min(from, last) + 1 : last - from + 1));

/** @param rows at least one for an existing stream, without an event if nothing was found. @throws {EventsDetached} */
const allOf = (read: StreamRead, rows: StreamRows, backwards: boolean): StreamRows => {
  const found = rows.filter((row) => row[2] !== null);
  const last = rows[0]?.[1];
  if (last == null || found.length >= expectedCount(read, Number(last), backwards)) return found;
  throw new EventsDetached(`a part of the stream ${read.stream}`);
};

type StreamEvents = readonly RecordedEvent[];

/** Outcome of each read. A stream that cannot be decoded fails only its own readers. */
function* settledReads(
  codec: EventCodec,
  found: readonly { readonly read: StreamRead; readonly rows: StreamRows }[],
  backwards: boolean,
): Pausing<readonly PromiseSettledResult<StreamEvents>[]> {
  const settled: PromiseSettledResult<StreamEvents>[] = [];
  yield* eachPausing(found, DECODED_BYTES_MAX, ({ read, rows }) => {
    try {
      const value = allOf(read, rows, backwards).map((row) => toEvent(codec, row, 2));
      settled.push({ status: 'fulfilled', value });
      return value.reduce((sum, event) => sum + heldBytes(event), 0);
    } catch (reason) {
      settled.push({ status: 'rejected', reason });
      return 0;
    }
  });
  return settled;
}

const admission = (): (() => boolean) => {
  let streams = 0;
  return () => {
    streams += 1;
    return streams <= GROUP_STREAMS_MAX;
  };
};

export interface StreamReading {
  readStream(stream: StreamName, options?: ReadStreamOptions): Promise<readonly RecordedEvent[]>;
  close(): Promise<void>;
}

/** Stream reads that arrive while others are in progress share the next query. */
export const createStreamReading = (
  pool: Pool,
  codec: EventCodec,
  system: Pick<System, 'monotonicMs'>,
  patienceMs: number,
): StreamReading => {
  const query = async (
    statement: typeof FORWARDS,
    reads: readonly StreamRead[],
  ): Promise<readonly PromiseSettledResult<StreamEvents>[]> => {
    const values = [
      textArray(reads.map(({ stream }) => stream)),
      integerArray(reads.map(({ from }) => from)),
      integerArray(reads.map(({ limit }) => limit)),
    ];
    const found = reads.map((read) => ({ read, rows: [] as TextRow[] }));
    try {
      const { rows } = await pool.query<(string | null)[]>({ ...statement, rowMode: 'array', values });
      for (const row of rows) found[Number(row[0]) - 1]?.rows.push(row);
    } catch (error) {
      throw readFailure(error);
    }
    return inTurns(settledReads(codec, found, statement === BACKWARDS));
  };

  const batcherOf = (statement: typeof FORWARDS): Batcher<StreamRead, StreamEvents> =>
    createBatcher({
      name: 'the log',
      inFlightMax: READS_IN_FLIGHT_MAX,
      waitingMax: WAITING_READS_MAX,
      patience: { ms: patienceMs, system },
      admission,
      run: (reads) => query(statement, reads),
    });

  const [forwards, backwards] = [batcherOf(FORWARDS), batcherOf(BACKWARDS)];

  return {
    readStream: (stream, { from, direction = 'forwards', limit = READ_STREAM_LIMIT } = {}) =>
      direction === 'forwards'
        ? forwards.add({ stream, from: from ?? 0, limit })
        : backwards.add({ stream, from: from ?? INTEGER_MAX, limit }),
    close: async () => {
      await Promise.all([forwards.close(), backwards.close()]);
    },
  };
};
