import { Client } from 'pg';

/**
 * Numbers of the session locks that processes of this service agree by. (A lock belongs to one database.) Migrations use
 * 7310002, rate limits 7310006, projections 7310011 to 7310013.
 */
export const ADVISORY_LOCKS = {
  /** Held by the one service that uses an embedded server. */
  ownership: 7_310_001,
  /** Held by whoever looks whether this is the first start. */
  firstStart: 7_310_004,
  /** Shared by every running service; held alone by whoever copies the log away from under them. */
  log: 7_310_005,
} as const;

export interface SessionLock {
  release(): Promise<void>;
}

type Mode = 'waited for' | 'shared' | 'alone';

const ASK: Readonly<Record<Mode, string>> = {
  'waited for': 'select true as taken from pg_advisory_lock($1)',
  shared: 'select pg_try_advisory_lock_shared($1) as taken',
  alone: 'select pg_try_advisory_lock($1) as taken',
};

/** For the server's farewell: shorter leaves a busy one no time, longer keeps whoever releases waiting for a dead one. */
const FAREWELL_MS = 2_000;

/** A connection that a firewall has forgotten would keep its caller waiting for a quarter of an hour. */
const endSession = async (client: Client): Promise<void> => {
  const timer = setTimeout(() => client.connection.stream.destroy(), FAREWELL_MS);
  await client.end().finally(() => clearTimeout(timer));
};

/**
 * A lock on a session of its own: it goes with the session, whatever happens to the process.
 * @returns null: somebody else holds it, so that it cannot be shared or had alone.
 */
export const takeSessionLock = async (url: string, lock: number, mode: Mode): Promise<SessionLock | null> => {
  const client = new Client({ connectionString: url, application_name: 'outbox lock' });
  client.on('error', () => undefined); // the session's end is the lock's
  await client.connect();
  const { rows } = await client.query<{ taken: boolean }>(ASK[mode], [lock]);
  if (rows[0]?.taken === true) return { release: () => endSession(client) };
  await endSession(client);
  return null;
};
