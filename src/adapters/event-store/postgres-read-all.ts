import type { Pool } from 'pg';
import type { EventCodec } from '../../domain/codec.ts';
import {
  type Filter,
  LOG_START,
  type Page,
  type Position,
  PositionNotInLog,
  type ReadAllOptions,
} from '../../domain/ports/event-store.ts';
import { readFailure } from './postgres-faults.ts';
import { EVENT_COLUMNS, type TextRow, toEvents, toPosition } from './postgres-rows.ts';

const BIGINT_MAX = '9223372036854775807';
/** The category that nearly every event has: what is asked without it is read from an index without it. */
const BULK_CATEGORY = 'message';

const columns = EVENT_COLUMNS.map((column) => `p.${column}`).join(', ');

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
  select h.head, ${columns}
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

export interface PageRequest extends ReadAllOptions {
  /** Bytes of data after which the page is cut short; without it `limit` alone counts. */
  readonly bytesMax?: number;
}

const startOf = (from: Position | undefined, backwards: boolean): string => {
  if (from === undefined && backwards) return BIGINT_MAX;
  return from === undefined || from === LOG_START ? '0' : from;
};

/** @throws {StoreUnavailable} */
export const readPage = async (pool: Pool, codec: EventCodec, request: PageRequest): Promise<Page> => {
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
