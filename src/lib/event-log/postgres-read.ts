import { DatabaseError, type Pool } from 'pg';
import {
  type Batcher,
  createBatcher,
  eachPausing,
  inTurns,
  type Pausing,
  StoreUnavailable,
  type System,
} from '../async/async.ts';
import { isUnreachable } from '../postgres/postgres.ts';
import {
  AppendOutcomeUnknown,
  type EventCodec,
  EventsDetached,
  type Filter,
  heldBytes,
  isBesideMessages,
  LOG_START,
  type Page,
  type Position,
  PositionNotInLog,
  READ_STREAM_LIMIT,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  type StreamName,
} from './event-log.ts';

/** Converts rows of the log in PostgreSQL to events, and its faults to those of the port. */

/** Wide enough for every exact integer of JavaScript: 9 · 10^15 events. */
const POSITION_DIGITS = 16;

/** A row of results as text, whatever its types, so that only needed values are parsed, and only once. */
export type TextRow = readonly (string | null)[];

/** Pool configuration that leaves every value as the text PostgreSQL sent. */
export const asText = { getTypeParser: () => (value: string) => value };

/** Columns of `event_log.events` that `toEvent` reads, in its order. */
const EVENT_COLUMNS = ['position', 'stream', 'revision', 'id', 'type', 'data', 'metadata'];

export const toPosition = (bigint: string): Position => bigint.padStart(POSITION_DIGITS, '0');

/** The last position of an empty log is 0. */
export const toHead = (bigint: string | null | undefined): Position =>
  bigint == null || bigint === '0' ? LOG_START : toPosition(bigint);

/**
 * Runs a hundred thousand times a second, so it makes no copies.
 * @param first index of the first of `EVENT_COLUMNS` in the row. None of them is null.
 */
const toEvent = (codec: EventCodec, row: TextRow, first: number): RecordedEvent => {
  const text = (column: number): string => row[first + column] ?? '';
  return {
    ...codec.decode({ id: text(3), type: text(4), data: text(5), metadata: text(6) }),
    stream: text(1) as StreamName,
    revision: Number(text(2)),
    position: toPosition(text(0)),
  };
};

/** Bytes of event data decoded in one turn of the event loop: some 5 ms. More delay requests, fewer cost turns. */
export const DECODED_BYTES_MAX = 250_000;

/**
 * Decodes rows up to the first that this process cannot read. If that is the very first row, throws its error.
 * So a follower handles all events before it, and stops exactly there.
 */
function* toEvents(codec: EventCodec, rows: readonly TextRow[], first: number): Pausing<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  yield* eachPausing(rows, DECODED_BYTES_MAX, (row) => {
    try {
      const event = toEvent(codec, row, first);
      events.push(event);
      return heldBytes(event);
    } catch (error) {
      if (events.length === 0) throw error;
      return null;
    }
  });
  return events;
}

const TEXT_OID = 25;
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;

/**
 * A `text[]` parameter in PostgreSQL's binary form (`array_recv`). The client's own text form escapes every quote of
 * every JSON document, and the server removes the escapes again. As measured, this allows 15 to 30 % more appends a
 * second.
 */
export const textArray = (values: readonly string[]): Buffer => {
  const sizes = values.map((value) => Buffer.byteLength(value));
  const total = sizes.reduce((sum, size) => sum + LENGTH_BYTES + size, HEADER_BYTES);
  const buffer = Buffer.allocUnsafe(total);
  const dimensions = values.length === 0 ? 0 : 1;
  let at = 0;
  for (const word of [dimensions, 0, TEXT_OID, values.length, 1]) at = buffer.writeInt32BE(word, at);
  if (dimensions === 0) return buffer.subarray(0, HEADER_BYTES - 2 * LENGTH_BYTES);
  for (const [index, value] of values.entries()) {
    at = buffer.writeInt32BE(sizes[index] ?? 0, at);
    at += buffer.write(value, at);
  }
  return buffer;
};

/** An `integer[]` parameter. Numbers need no escaping, so they are not searched for quotes one by one. */
export const integerArray = (values: readonly number[]): string => `{${values.join(',')}}`;

/** Classes of SQLSTATE that may also occur after the commit: connection, operator intervention, system error. */
const UNSURE = new Set(['08', '57', '58']);
/** Classes for faulty input: data exception, constraint. */
const DATA = new Set(['22', '23']);

const classOf = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? (error.code ?? '').slice(0, 2) : undefined;

const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Converts the error of a failed read or connection attempt. Anything but an unreachable server is a fault and stays
 * unchanged.
 */
export const readFailure = (error: unknown): unknown =>
  isUnreachable(error)
    ? new StoreUnavailable(`the log cannot be reached: ${sentence(error)}`, { cause: error })
    : error;

/** Converts an error after sending an append. The outcome is unknown unless the server reported a rollback. */
export const appendFailure = (error: unknown): unknown => {
  const sqlstate = classOf(error);
  if (sqlstate === undefined || UNSURE.has(sqlstate)) {
    return new AppendOutcomeUnknown(`the append was not answered: ${sentence(error)}`, { cause: error });
  }
  return readFailure(error);
};

/** True if one member of a group is at fault, so that the others deserve another attempt without it. */
export const isDataFault = (error: unknown): boolean => DATA.has(classOf(error) ?? '');

/** Short, since most interruptions are a restart. */
const RETRY_MS_MIN = 50;
/** Longest delay in noticing a recovery. Shorter hammers a server that is starting. */
const RETRY_MS_MAX = 2000;

/** Wait before the next attempt: between half and all of a doubling time, so that processes do not return in step. */
export const retryDelayMs = (system: Pick<System, 'randomBytes'>, attempt: number): number => {
  const wait = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(attempt, 10));
  return wait * (0.5 + (system.randomBytes(1)[0] ?? 0) / 512);
};

/** Reads of the log in PostgreSQL: pages of the whole log, and streams, many of which share a query. */

const BIGINT_MAX = '9223372036854775807';

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

const conditionsFor = (filter: Filter): Conditions => {
  if (filter.categories === undefined) return ALL;
  return isBesideMessages(filter) ? BESIDE_MESSAGES : CATEGORIES;
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

interface StreamRange {
  readonly stream: StreamName;
  readonly from: number;
  readonly limit: number;
}

type StreamRows = readonly TextRow[];

/** Number of events that a read finds if none are missing. */
const expectedCount = ({ from, limit }: StreamRange, last: number, backwards: boolean): number =>
  Math.min(limit, Math.max(0, backwards ? Math.min(from, last) + 1 : last - from + 1));

/** @param rows at least one for an existing stream, without an event if nothing was found. @throws {EventsDetached} */
const allOf = (read: StreamRange, rows: StreamRows, backwards: boolean): StreamRows => {
  const found = rows.filter((row) => row[2] !== null);
  const last = rows[0]?.[1];
  if (last == null || found.length >= expectedCount(read, Number(last), backwards)) return found;
  throw new EventsDetached(`a part of the stream ${read.stream}`);
};

type StreamEvents = readonly RecordedEvent[];

/** Outcome of each read. A stream that cannot be decoded fails only its own readers. */
function* settledReads(
  codec: EventCodec,
  found: readonly { readonly read: StreamRange; readonly rows: StreamRows }[],
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

interface StreamReading {
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
    reads: readonly StreamRange[],
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

  const batcherOf = (statement: typeof FORWARDS): Batcher<StreamRange, StreamEvents> =>
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
