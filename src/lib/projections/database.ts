import { finished } from 'node:stream/promises';
import type { Pool, PoolClient } from 'pg';
import { from } from 'pg-copy-streams';
import { ENDED, type System, withTimeout } from '../async/async.ts';

/** A pool for reading, or one connection inside a transaction. */
export type Database = Pick<Pool, 'query'> | Pick<PoolClient, 'query'>;

/** The live read models, those that a rebuild prepares, and those of a moment (`replay`). */
export type ReadModelSchema = 'read_models' | 'read_models_building' | `${string}replay_${string}`;

/**
 * Runs `work` in one transaction with `schema` as the search path. The commit does not wait for the disk: a crash loses
 * rows and checkpoint together, and they are derived from the log again.
 */
export const inTransaction = async <T>(
  client: Database,
  schema: ReadModelSchema,
  work: () => Promise<T>,
): Promise<T> => {
  await client.query(`begin; set local search_path to ${schema}; set local synchronous_commit to off`);
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    // Not awaited: a lost connection has rolled back, and a silent one does not answer.
    void client.query('rollback').catch(() => undefined);
    throw error;
  }
};

/**
 * Rows as one parameter for `json_to_recordset($1)`. For 10,000 rows of twelve columns, arrays for `unnest` cost this
 * thread, which all projections share, three to five times as much, and save PostgreSQL a tenth.
 */
export const asRecords = (rows: readonly object[]): [string] => [JSON.stringify(rows)];

/** Values of a row: text, numbers, ISO 8601 times, bytes, or JSON as an object. Undefined is null. */
type Row = Readonly<Record<string, unknown>>;

/** Characters with a meaning in COPY (PostgreSQL manual, COPY, "Text Format"). */
const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const escaped = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character) : text;

const cell = (value: unknown): string => {
  if (typeof value === 'string') return escaped(value);
  if (value === null || value === undefined) return '\\N';
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`;
  return typeof value === 'object' ? escaped(JSON.stringify(value)) : String(value);
};

/**
 * Inserts rows by COPY, in half the time of an `insert` from JSON. For append-only tables: one bad row fails all.
 * @param columns property of a row, by column.
 */
export const rowsInto = <R extends object>(table: string, columns: Readonly<Record<string, keyof R & string>>) => {
  const text = `copy ${table} (${Object.keys(columns).join(', ')}) from stdin`;
  const keys = Object.values(columns);
  const lineOf = (row: Row): string => `${keys.map((key) => cell(row[key])).join('\t')}\n`;
  return async (db: Database, rows: readonly R[]): Promise<void> => {
    if (rows.length === 0) return;
    const copying = db.query(from(text));
    copying.end(rows.map((row) => lineOf(row as Row)).join(''));
    await finished(copying);
  };
};

/**
 * The server ends a session that is silent for this long, with its locks: the process may be frozen or its machine gone.
 * Longer leaves a read model stalled longer, shorter mistakes a busy moment for the end.
 */
export const SILENCE_MS_MAX = 10_000;
/** Heartbeats in that time. Higher costs queries, lower tolerates less load. */
const PULSES = 3;

/** TCP keepalive: during a statement no time-out of the server runs. */
const KEEP_ALIVE_SECONDS = 5;

/** Makes the server end this session when the client's machine is gone. */
export const endWhenGone = async (db: Database): Promise<void> => {
  await db.query(`
    set tcp_keepalives_idle to ${KEEP_ALIVE_SECONDS};
    set tcp_keepalives_interval to ${KEEP_ALIVE_SECONDS};
    set tcp_keepalives_count to ${PULSES}`);
};

/** Makes the server end this session when it falls silent. Call it before taking locks. */
export const endWhenSilent = async (db: Database, silenceMs: number): Promise<void> => {
  await endWhenGone(db);
  await db.query(`
    set idle_session_timeout to ${silenceMs};
    set idle_in_transaction_session_timeout to ${silenceMs}`);
};

interface Pulse {
  readonly db: Database;
  readonly system: Pick<System, 'sleep'>;
  readonly silenceMs: number;
}

/** @throws {Error} the server did not answer a heartbeat in time. */
const answer = ({ db, system, silenceMs }: Pulse): Promise<unknown> => {
  const error = () => new Error(`PostgreSQL has said nothing for ${silenceMs} ms`);
  return withTimeout({ system, ms: silenceMs, error }, db.query('select'));
};

const beat = async (pulse: Pulse, over: AbortSignal): Promise<never> => {
  for (;;) {
    await pulse.system.sleep(pulse.silenceMs / PULSES, over);
    await answer(pulse);
  }
};

/**
 * Keeps the session alive while it waits for something else.
 * @throws {Error} the session has ended: another process may hold its locks.
 */
export const whileAlive = async <T>(pulse: Pulse, waiting: Promise<T>): Promise<T> => {
  const over = new AbortController();
  try {
    return await Promise.race([waiting, beat(pulse, over.signal)]);
  } finally {
    over.abort(ENDED);
  }
};

/**
 * Runs `work` on a connection that is closed afterwards, so that its session's locks end. The next query reports a lost
 * connection; without a listener the event would end the process.
 */
export const withConnection = async <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> => {
  const client = await pool.connect();
  client.on('error', () => undefined);
  try {
    return await work(client);
  } finally {
    client.release(true);
  }
};

/** First keys of PostgreSQL's two-key advisory locks; nothing else of this service uses them. */
const RUNNING = 7_310_011;
const REBUILDING = 7_310_012;
const REPLAYING = 7_310_013;

/** Advisory locks with two keys have `objsubid` 2; the second key is the hash of the name. */
const REBUILT = `
  select objid::bigint as hash from pg_locks
  where locktype = 'advisory' and objsubid = 2 and classid = ${REBUILDING} and granted
    and database = (select oid from pg_database where datname = current_database())`;
const HASHES = 'select name, hashtext(name)::bigint & 4294967295 as hash from unnest($1::text[]) name';

/** Those of the read models that some process is rebuilding. */
export const rebuiltNow = async (db: Database, names: readonly string[]): Promise<ReadonlySet<string>> => {
  const { rows } = await db.query<{ name: string }>(
    `select h.name from (${HASHES}) h join (${REBUILT}) r using (hash)`,
    [names],
  );
  return new Set(rows.map(({ name }) => name));
};

const TRY_LOCK = 'select pg_try_advisory_lock($1, hashtext($2)) as locked';

const tryLock = async (db: Database, key: number, name: string): Promise<boolean> => {
  const { rows } = await db.query<{ locked: boolean }>(TRY_LOCK, [key, name]);
  return rows[0]?.locked === true;
};

/** One process runs a projection, the others stand by. Held until the connection is closed. */
export const tryLockRunning = (db: Database, name: string): Promise<boolean> => tryLock(db, RUNNING, name);

/** Allows one process to rebuild a read model while another runs its projection. Held until the connection is closed. */
export const tryLockRebuilding = (db: Database, name: string): Promise<boolean> => tryLock(db, REBUILDING, name);

/** One process makes the read models of a moment in a schema. Held until the connection is closed. */
export const tryLockReplaying = (db: Database, schema: string): Promise<boolean> => tryLock(db, REPLAYING, schema);

/** Rows per page of a list. Larger pages hold more in memory, smaller ones cost round trips (api.md, lists). */
const PAGE_ROWS_MAX = 100;

/** A newest-first list continues after the row with these values; opaque to clients. */
export interface ListCursor {
  /** ISO 8601. */
  readonly createdAt: string;
  readonly id: string;
}

/** One page of a list. */
export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
  /** Pass as `after` for the page that follows; null: this was the last. */
  readonly next: ListCursor | null;
}

/** Queries ask for one row more than the page holds, which tells whether there are more. */
export const rowsToAsk = (limit: number): number => Math.min(limit, PAGE_ROWS_MAX) + 1;

/** @param rows what a query that asked for `rowsToAsk(limit)` was answered. */
export const pageOf = <Item>(
  rows: readonly Item[],
  limit: number,
  cursorOf: (item: Item) => ListCursor,
): ListPage<Item> => {
  const items = rows.slice(0, rowsToAsk(limit) - 1);
  const last = items.at(-1);
  const hasMore = rows.length > items.length;
  return { items, hasMore, next: hasMore && last !== undefined ? cursorOf(last) : null };
};
