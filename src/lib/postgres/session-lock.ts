import { Client } from 'pg';
import { pause, type System } from '../async/async.ts';
import { KEEP_ALIVE_MS } from './pool.ts';

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
  if (rows[0]?.taken === true) return { release: () => endSession(client), ended };
  await endSession(client);
  return null;
};

/** Shorter polls an unavailable server too often, longer extends the time without the lock. */
const AGAIN_MS = 1_000;

export interface KeptLock {
  readonly url: string;
  readonly lock: number;
  /** Name of the session in `pg_stat_activity`. */
  readonly name: string;
  readonly system: Pick<System, 'sleep'>;
}

/**
 * A shared lock that is taken again after its session was lost: the server may have restarted.
 * @returns null if another session holds it exclusively.
 */
export const keepSessionLock = async (options: KeptLock): Promise<Pick<SessionLock, 'release'> | null> => {
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
    release: async () => {
      released.abort();
      await held?.release();
    },
  };
};
