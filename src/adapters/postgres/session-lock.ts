import { Client } from 'pg';

export interface SessionLock {
  release(): Promise<void>;
}

type Mode = 'waited for' | 'shared' | 'alone';

const ASK: Readonly<Record<Mode, string>> = {
  'waited for': 'select true as taken from pg_advisory_lock($1)',
  shared: 'select pg_try_advisory_lock_shared($1) as taken',
  alone: 'select pg_try_advisory_lock($1) as taken',
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
  if (rows[0]?.taken === true) return { release: () => client.end() };
  await client.end();
  return null;
};
