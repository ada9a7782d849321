import type { Database } from './database.ts';
import type { ProjectionName } from './names.ts';

/** First keys of PostgreSQL's two-key advisory locks; nothing else of this service uses them. */
const RUNNING = 7_310_011;
const REBUILDING = 7_310_012;

const TRY_LOCK = 'select pg_try_advisory_lock($1, hashtext($2)) as locked';

const tryLock = async (db: Database, key: number, name: ProjectionName): Promise<boolean> => {
  const { rows } = await db.query<{ locked: boolean }>(TRY_LOCK, [key, name]);
  return rows[0]?.locked === true;
};

/** One process runs a projection, the others stand by. Held until the connection is closed. */
export const tryLockRunning = (db: Database, name: ProjectionName): Promise<boolean> => tryLock(db, RUNNING, name);

/** One process rebuilds a read model, beside the one that runs its projection. Held until the connection is closed. */
export const tryLockRebuilding = (db: Database, name: ProjectionName): Promise<boolean> =>
  tryLock(db, REBUILDING, name);
