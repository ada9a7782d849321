import { Pool } from 'pg';
import type { Logger } from '../../domain/ports/logger.ts';
import { PIN_ISOLATION } from './isolation.ts';

export interface PoolOptions {
  readonly url: string;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  readonly logger: Logger;
  /** More waits in the server for its CPUs, fewer waits here; all pools of all processes share `max_connections`. */
  readonly max?: number;
  /** A statement that takes longer is cancelled; `0`: none is, as a rebuild needs. */
  readonly statementTimeoutMs?: number;
}

const MAX = 10;
/** Longer keeps requests hanging while the database is away, shorter turns a slow moment into an error. */
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 15_000;
/** The server cancels in time; this is for a server that does not answer at all. */
const SILENCE_GRACE_MS = 5_000;
const IDLE_MS = 60_000;
/** A server whose machine went away without a word is noticed this much, and ten seconds, later; the system waits hours. */
export const KEEP_ALIVE_MS = 10_000;

/** Connections that are made when needed and made again after the database was away. */
export const createPool = (options: PoolOptions): Pool => {
  const { url, name, logger, max = MAX, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
  const pool = new Pool({
    connectionString: url,
    application_name: `outbox ${name}`,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    onConnect: async (client) => void (await client.query(PIN_ISOLATION)),
    ...(statementTimeoutMs === 0
      ? {}
      : { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + SILENCE_GRACE_MS }),
  });
  // A connection that breaks while nobody uses it would otherwise end the process; the next query makes another. One that
  // the server was quicker to end than we were, as the built-in one is when we stop it, is nobody's worry.
  pool.on('error', (error) => {
    if (!pool.ending) logger.warn({ err: error, pool: name }, 'an idle database connection broke');
  });
  return pool;
};
