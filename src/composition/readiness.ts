import type { HttpDependencies } from '../http/dependencies.ts';
import { isDiskFull } from './measure-appends.ts';
import type { Engines } from './open-engines.ts';

/** Parts that must work before a process accepts requests. */

/**
 * Sorts more than fits into the smallest memory, so that the server writes a file of some 300 kB and removes it. A `select`
 * succeeds on a full disk, on which no append does.
 */
const WRITE_A_FILE = `
  set local work_mem = '64kB';
  select count(*) from (select md5(n::text) from generate_series(1, 4000) n order by 1) sorted`;
/** Longer: sends are refused for as long before the process says so. Shorter: more work for a disk that has room. */
const ROOM_EVERY_MS = 10_000;

/** Rejects while PostgreSQL has no room to write. */
const createRoomProbe = ({ pool, system, foundFull }: Engines): (() => Promise<void>) => {
  let checkedMs = Number.NEGATIVE_INFINITY;
  let isFull = false;
  return async () => {
    const nowMs = system.monotonicMs();
    if (isFull || foundFull() || nowMs - checkedMs >= ROOM_EVERY_MS) {
      checkedMs = nowMs;
      isFull = await pool.query(WRITE_A_FILE).then(() => false, isDiskFull);
    }
    if (isFull) throw new Error('the disk is full');
  };
};

/** @param isStarted false until the whole start has succeeded. */
export const readinessProbes = (engines: Engines, isStarted: () => boolean): HttpDependencies['probes'] => {
  const { pool, store, logGuard } = engines;
  return {
    database: () => pool.query('select 1'),
    'database: its disk is full': createRoomProbe(engines),
    log: () => store.head(),
    'log: it was replaced by another or by an older copy': async () => {
      if (logGuard.replaced() !== null) throw logGuard.replaced();
    },
    'start: not finished': async () => {
      if (!isStarted()) throw new Error('the service is still starting');
    },
  };
};
