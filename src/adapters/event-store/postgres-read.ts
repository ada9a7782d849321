import type { Pool } from 'pg';
import { type Batcher, createBatcher } from '../../async/batcher.ts';
import type { EventCodec } from '../../domain/codec.ts';
import {
  type Filter,
  LOG_START,
  type Page,
  type Position,
  PositionNotInLog,
  READ_STREAM_LIMIT,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  type StreamName,
} from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import {
  EVENT_COLUMNS,
  integerArray,
  readFailure,
  type TextRow,
  textArray,
  toEvent,
  toEvents,
  toPosition,
} from './postgres-rows.ts';

/** Reads of the log in PostgreSQL: pages of the whole log, and streams, many of which share a query. */

const BIGINT_MAX = '9223372036854775807';
/** The category that nearly every event has: what is asked without it is read from an index without it. */
const BULK_CATEGORY = 'message';

const pageColumns = EVENT_COLUMNS.map((column) => `p.${column}`).join(', ');

interface Conditions {
  readonly name: string;
  readonly sql: string;
}

const ALL: Conditions = { name: 'all', sql: '' };
const CATEGORIES: Conditions = { name: 'categories', sql: 'and e.category = any ($4::text[])' };
/** Spelt like the predicate of the index `events_beside_messages`, so that it is used. */
const BESIDE_MESSAGES: Conditions = { name: 'beside-messages', sql: `${CATEGORIES.sql} and e.category <> 'message'` };

/**
 * A page and the log's head as one snapshot sees them, so that an empty page may move on to the head. The page is cut
 * short where its data would be more than $3 bytes; its first event always comes. (Measured with 600-byte events: the
 * sum of bytes costs a tenth, the head nothing.)
 */
const pageSql = (conditions: Conditions, compare: '>' | '<', order: 'asc' | 'desc'): string => `
  select h.head, ${pageColumns}
  from (select max(position) as head from event_log.events) h
  left join lateral (
    select c.*, sum(octet_length(c.data)) over (order by c.position ${order} rows unbounded preceding) - octet_length(c.data) as bytes_before
    from (
      select * from event_log.events e
      where e.position ${compare} $1 ${conditions.sql}
      order by e.position ${order} limit $2
    ) c
  ) p on p.bytes_before < $3
  order by p.position ${order}`;

/** Nothing of what makes up nearly all of the log. */
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

/** @throws {StoreUnavailable} */
export const readPage = async (pool: Pool, codec: EventCodec, request: ReadAllOptions): Promise<Page> => {
  const { from, filter = {}, limit, bytesMax = BIGINT_MAX } = request;
  if (request.signal?.aborted === true) return { events: [], position: from ?? LOG_START };
  const backwards = request.direction === 'backwards';
  const statement = statementFor(conditionsFor(filter), backwards);
  const values = [startOf(from, backwards), limit, bytesMax];
  const withCategories = filter.categories === undefined ? values : [...values, filter.categories];
  const rows = await query(pool, statement, withCategories);
  const events = toEvents(
    codec,
    rows.filter((row) => row[1] !== null),
    1,
  );
  const last = events.at(-1);
  if (last !== undefined) return { events, position: last.position };
  const head = rows[0]?.[0];
  const searched = head == null ? LOG_START : toPosition(head);
  if (backwards) return { events, position: LOG_START };
  if ((from ?? LOG_START) > searched) throw new PositionNotInLog();
  return { events, position: searched };
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

/** One runs while the answer of the other is decoded; more would only be smaller. */
const READS_IN_FLIGHT_MAX = 2;
/** Streams are short: some thousand rows. Larger delays the first reader of a group by the last one's rows. */
const GROUP_STREAMS_MAX = 256;
/** As for appends: at worst a second's work. */
const WAITING_READS_MAX = 10_000;
const INTEGER_MAX = 2_147_483_647;

const streamColumns = EVENT_COLUMNS.map((column) => `e.${column}`).join(', ');

/**
 * Many streams in one query, as workers read the streams of hundreds of messages at once: a walk down the index
 * (stream, revision) for each.
 */
const FORWARDS = {
  name: 'event-log-read-streams',
  text: `
    select m.ord, ${streamColumns}
    from unnest($1::text[], $2::integer[], $3::integer[]) with ordinality as m (stream, start, size, ord)
    cross join lateral (
      select * from event_log.events s
      where s.stream = m.stream collate "C" and s.revision >= m.start
      order by s.revision limit m.size
    ) e
    order by m.ord, e.revision`,
} as const;

const BACKWARDS = {
  name: 'event-log-read-streams-backwards',
  text: `
    select m.ord, ${streamColumns}
    from unnest($1::text[], $2::integer[], $3::integer[]) with ordinality as m (stream, start, size, ord)
    cross join lateral (
      select * from event_log.events s
      where s.stream = m.stream collate "C" and s.revision <= m.start
      order by s.revision desc limit m.size
    ) e
    order by m.ord, e.revision desc`,
} as const;

interface StreamRead {
  readonly stream: StreamName;
  readonly from: number;
  readonly limit: number;
}

type StreamRows = readonly TextRow[];

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

/** Reads of streams that come while others are under way share the next query. */
export const createStreamReading = (
  pool: Pool,
  codec: EventCodec,
  system: Pick<System, 'monotonicMs'>,
  patienceMs: number,
): StreamReading => {
  const query = async (
    statement: typeof FORWARDS | typeof BACKWARDS,
    reads: readonly StreamRead[],
  ): Promise<readonly PromiseSettledResult<StreamRows>[]> => {
    const values = [
      textArray(reads.map(({ stream }) => stream)),
      integerArray(reads.map(({ from }) => from)),
      integerArray(reads.map(({ limit }) => limit)),
    ];
    const found: TextRow[][] = reads.map(() => []);
    try {
      const { rows } = await pool.query<(string | null)[]>({ ...statement, rowMode: 'array', values });
      for (const row of rows) found[Number(row[0]) - 1]?.push(row);
    } catch (error) {
      throw readFailure(error);
    }
    return found.map((value) => ({ status: 'fulfilled', value }));
  };

  const gatherOf = (statement: typeof FORWARDS | typeof BACKWARDS): Batcher<StreamRead, StreamRows> =>
    createBatcher({
      name: 'the log',
      inFlightMax: READS_IN_FLIGHT_MAX,
      waitingMax: WAITING_READS_MAX,
      patience: { ms: patienceMs, system },
      admission,
      run: (reads) => query(statement, reads),
    });

  const [forwards, backwards] = [gatherOf(FORWARDS), gatherOf(BACKWARDS)];

  return {
    readStream: async (stream, { from, direction = 'forwards', limit = READ_STREAM_LIMIT } = {}) => {
      const read =
        direction === 'forwards'
          ? forwards.add({ stream, from: from ?? 0, limit })
          : backwards.add({ stream, from: from ?? INTEGER_MAX, limit });
      return (await read).map((row) => toEvent(codec, row, 1));
    },
    close: async () => {
      await Promise.all([forwards.close(), backwards.close()]);
    },
  };
};
