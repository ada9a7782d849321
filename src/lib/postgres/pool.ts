import { Client, Pool, type QueryResult, type QueryResultRow } from 'pg';
import { type Logger, pause, StartRefused, StoreUnavailable, type System } from '../async/async.ts';

interface PoolOptions {
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

/** Pools of this process by name, for measurement. A pool that has ended is dropped when it is next read. */
const pools = new Map<Pool, string>();

interface PoolUse {
  readonly name: string;
  readonly connections: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

/** Use of the pools that are open, added up by name. */
export const poolUse = (): readonly PoolUse[] => {
  for (const pool of pools.keys()) if (pool.ending) pools.delete(pool);
  return Map.groupBy(pools, ([, name]) => name)
    .entries()
    .map(([name, named]) => {
      const sum = (count: (pool: Pool) => number): number => named.reduce((total, [pool]) => total + count(pool), 0);
      return {
        name,
        connections: sum(({ totalCount }) => totalCount),
        idle: sum(({ idleCount }) => idleCount),
        waiting: sum(({ waitingCount }) => waitingCount),
      };
    })
    .toArray();
};

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
  pools.set(pool, name);
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

interface CheckPostgresOptions {
  readonly url: string;
  /** Name of the setting that holds the URL, for the operator. */
  readonly setting: string;
  /** Name of the program that uses the server, for the operator. */
  readonly product: string;
  readonly system: System;
  readonly logger: Logger;
  /**
   * How long the server may be down when we start. Longer hides a wrong address, shorter fails if both start at the
   * same time.
   */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 15_000;
const RETRY_MS = 500;
/** Failed attempts per log line: one line every 5 s. */
const TELL_EVERY = 10;
const VERSION_MIN = 15;

const REFUSALS: Readonly<Record<string, (setting: string, url: URL) => string>> = {
  '28P01': (setting) => `refuses the user name and password: correct them in ${setting}`,
  '28000': (setting) => `refuses the user: correct ${setting} or its pg_hba.conf`,
  '3D000': (setting, url) => `has no database "${url.pathname.slice(1)}": create it, or correct ${setting}`,
  '42501': () => 'does not allow this user to connect: grant it access to the database',
};

/** With one of these off, a commit may be forgotten after it was answered. */
const DURABILITY = ['fsync', 'full_page_writes', 'synchronous_commit'];

interface Facts {
  readonly version: string;
  readonly encoding: string;
  readonly off: readonly string[];
}

const FACTS = `
  select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
    (select coalesce(array_agg(name), '{}') from unnest($1::text[]) name where current_setting(name) = 'off') as off`;

const ask = async (url: string): Promise<Facts> => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<Facts>(FACTS, [DURABILITY]);
    return rows[0] as Facts; // a select without from has one row
  } finally {
    await client.end();
  }
};

const nameOf = (url: URL): string => `PostgreSQL at ${url.host || 'localhost'}`;

const refusal = (setting: string, url: URL, error: unknown): StartRefused => {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  const known = REFUSALS[code ?? '']?.(setting, url);
  if (known !== undefined) return new StartRefused(`${nameOf(url)} ${known}`);
  return new StartRefused(`${nameOf(url)} cannot be reached (${code ?? message}): start it, or correct ${setting}`);
};

const examine = (url: URL, { version, encoding }: Facts, product: string): void => {
  const major = Math.floor(Number(version) / 10_000);
  if (major < VERSION_MIN) {
    throw new StartRefused(`${nameOf(url)} is version ${major}: ${product} needs ${VERSION_MIN} or newer`);
  }
  if (encoding !== 'UTF8') {
    throw new StartRefused(`the database at ${url.host} is encoded in ${encoding}: create one with encoding UTF8`);
  }
};

/**
 * Waits for an external PostgreSQL and makes sure that it can be used. Warns if it may lose commits.
 * @throws {StartRefused} if it is down, rejects us, or does not meet our needs.
 */
export const checkPostgres = async (options: CheckPostgresOptions): Promise<void> => {
  const { setting, product, system, logger, patienceMs = PATIENCE_MS } = options;
  const url = new URL(options.url);
  const deadline = system.monotonicMs() + patienceMs;
  const tryToAsk = async (): Promise<Facts | null> => {
    try {
      return await ask(options.url);
    } catch (error) {
      if (!isUnreachable(error) || system.monotonicMs() > deadline) throw refusal(setting, url, error);
      return null;
    }
  };
  let facts = await tryToAsk();
  for (let tries = 0; facts === null; tries += 1) {
    if (tries % TELL_EVERY === 0) logger.info({ host: url.host }, 'waiting for PostgreSQL');
    await system.sleep(RETRY_MS);
    facts = await tryToAsk();
  }
  examine(url, facts, product);
  if (facts.off.length > 0) {
    const told = `${nameOf(url)} has ${facts.off.join(' and ')} off: accepted mail can be lost if it crashes. Turn them on`;
    logger.warn({ off: facts.off }, told);
  }
};

/**
 * Keys of the session locks shared by processes of this service. (A lock belongs to one database.) Migrations use
 * 7310002, rate limits 7310006, projections 7310011 to 7310013.
 */
export const ADVISORY_LOCKS = {
  /** Held by the one service that uses an embedded server. */
  ownership: 7_310_001,
  /** Held while checking whether this is the first start. */
  firstStart: 7_310_004,
  /**
   * Shared by every running service. Held exclusively by commands that need every service stopped, such as a restore.
   */
  log: 7_310_005,
} as const;

export interface SessionLock {
  /** Runs on the session of the lock. @throws if the session has ended. */
  query<Row extends QueryResultRow>(sql: string): Promise<QueryResult<Row>>;
  release(): Promise<void>;
  /** Resolves when the session ends, for any reason. */
  readonly ended: Promise<void>;
}

type Mode = 'waited for' | 'shared' | 'alone';

const ASK: Readonly<Record<Mode, string>> = {
  'waited for': 'select true as taken from pg_advisory_lock($1)',
  shared: 'select pg_try_advisory_lock_shared($1) as taken',
  alone: 'select pg_try_advisory_lock($1) as taken',
};

const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS } as const;

/** Time for the server to say goodbye. Shorter cuts off a busy server, longer makes a release wait for a dead one. */
const FAREWELL_MS = 2_000;

/** Without a limit, a connection that a firewall has dropped would block its caller for a quarter of an hour. */
const endSession = async (client: Client): Promise<void> => {
  const timer = setTimeout(() => client.connection.stream.destroy(), FAREWELL_MS);
  await client.end().finally(() => clearTimeout(timer));
};

/**
 * A lock on a session of its own: it ends with the session, whatever happens to the process.
 * @returns null if another session's lock conflicts with this mode.
 */
export const takeSessionLock = async (
  url: string,
  lock: number,
  mode: Mode,
  name = 'outbox lock',
): Promise<SessionLock | null> => {
  const client = new Client({ connectionString: url, application_name: name, ...KEEP_ALIVE });
  const ended = new Promise<void>((resolve) => client.once('end', resolve));
  client.on('error', () => undefined); // the session's end is the lock's
  await client.connect();
  const { rows } = await client.query<{ taken: boolean }>(ASK[mode], [lock]);
  if (rows[0]?.taken === true) {
    return { query: (sql) => client.query(sql), release: () => endSession(client), ended };
  }
  await endSession(client);
  return null;
};

/** Shorter polls an unavailable server too often, longer extends the time without the lock. */
const AGAIN_MS = 1_000;

interface KeptLock {
  readonly url: string;
  readonly lock: number;
  /** Name of the session in `pg_stat_activity`. */
  readonly name: string;
  readonly system: Pick<System, 'sleep'>;
}

export type KeptSessionLock = Pick<SessionLock, 'query' | 'release'>;

/**
 * A shared lock that is taken again after its session was lost: the server may have restarted.
 * @returns null if another session holds it exclusively.
 */
export const keepSessionLock = async (options: KeptLock): Promise<KeptSessionLock | null> => {
  const { url, lock, name, system } = options;
  const take = (): Promise<SessionLock | null> => takeSessionLock(url, lock, 'shared', name);
  const first = await take();
  if (first === null) return null;
  const released = new AbortController();
  let held: SessionLock | null = first;

  const keep = async (): Promise<void> => {
    while (!released.signal.aborted) {
      await held?.ended;
      await pause(system, AGAIN_MS, released.signal);
      if (!released.signal.aborted) held = await take().catch(() => null);
    }
    await held?.release();
  };
  keep().catch(() => undefined); // it ends with the release

  return {
    query: async (sql) => {
      if (held === null) throw new StoreUnavailable('the session of the lock has ended');
      return await held.query(sql);
    },
    release: async () => {
      released.abort();
      await held?.release();
    },
  };
};
