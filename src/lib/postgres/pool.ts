import { Pool } from 'pg';
import { type Logger, StoreUnavailable } from '../async/async.ts';

export interface PoolOptions {
  readonly url: string;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  readonly logger: Logger;
  /**
   * Connections. More compete for the server's CPUs, fewer queue here. All pools of all processes share
   * `max_connections`.
   */
  readonly max?: number;
  /** A statement that takes longer is cancelled; `0`: no limit, as a rebuild needs. */
  readonly statementTimeoutMs?: number;
}

const MAX = 10;
/** Longer keeps requests hanging while the database is down, shorter turns a slow moment into an error. */
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 15_000;
/** The server normally cancels in time. This covers a server that does not answer at all. */
const SILENCE_GRACE_MS = 5_000;
const IDLE_MS = 60_000;
/**
 * A server whose machine vanished is noticed after this time plus ten seconds; the operating system would wait hours.
 */
export const KEEP_ALIVE_MS = 10_000;

/** Opens connections on demand, and again after the database was down. */
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
    onConnect: async (client) => {
      // The query of a broken checked-out connection reports the error; an unhandled event would end the process.
      client.on('error', () => undefined);
      await client.query(PIN_ISOLATION);
    },
    ...(statementTimeoutMs === 0
      ? {}
      : { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + SILENCE_GRACE_MS }),
  });
  // Without a listener, an idle connection that breaks would end the process; the next query opens another. Errors
  // while the pool is ending are harmless: the server, such as the built-in one that we stop, may close first.
  pool.on('error', (error) => {
    if (!pool.ending) logger.warn({ err: error, pool: name }, 'an idle database connection broke');
  });
  return pool;
};

/**
 * SQLSTATE classes in which the server cannot serve for now (appendix A of its manual): connection, transaction rolled
 * back, resources, object in use, operator intervention (shutting down, starting up, cancelled, such as after a
 * time-out), system error. Also a standby, or a primary that has become one; the class of that code holds faults of
 * ours too.
 */
const UNAVAILABLE_STATES = /^(?:08...|40...|53...|55...|57...|58...|25006)$/;

const SOCKET_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT', // a socket of the file system
]);

/** Errors of the client that have no code. */
const CLIENT_MESSAGES =
  /^(?:Connection terminated|timeout e|Query read timeout|Client has encountered|Cannot use a pool after calling end)/i;

/**
 * True if the database was down, so that the same call may succeed later. Otherwise the fault is in the call or the
 * data.
 */
export const isUnreachable = (error: unknown): boolean => {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code === 'string') return SOCKET_CODES.has(code) || UNAVAILABLE_STATES.test(code);
  return typeof message === 'string' && CLIENT_MESSAGES.test(message);
};

/** Runs a query of the vault. @throws {StoreUnavailable} if the database was down. */
export const orUnavailable = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (isUnreachable(error)) throw new StoreUnavailable('the database cannot be reached', { cause: error });
    throw error;
  }
};

/**
 * The first statement on every connection. Every statement here assumes this isolation level, and a database may have
 * another default (`alter database … set default_transaction_isolation`), under which appends and claims would fail one
 * another.
 */
export const PIN_ISOLATION = 'set session characteristics as transaction isolation level read committed';
