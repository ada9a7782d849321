import type { Pool, PoolClient } from 'pg';
import { ENDED, type System, withTimeout } from '../lib/async/async.ts';
import type { Database } from './database.ts';
import type { ProjectionName } from './projection.ts';

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

export interface Pulse {
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
export const tryLockRunning = (db: Database, name: ProjectionName): Promise<boolean> => tryLock(db, RUNNING, name);

/** Allows one process to rebuild a read model while another runs its projection. Held until the connection is closed. */
export const tryLockRebuilding = (db: Database, name: ProjectionName): Promise<boolean> =>
  tryLock(db, REBUILDING, name);

/** One process makes the read models of a moment in a schema. Held until the connection is closed. */
export const tryLockReplaying = (db: Database, schema: string): Promise<boolean> => tryLock(db, REPLAYING, schema);
