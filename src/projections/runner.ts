import type { Pool } from 'pg';
import { isFatal } from '../domain/kernel/codec.ts';
import { StartRefused } from '../lib/async/async.ts';
import {
  createProjectionRunner as createRunner,
  type Database,
  type RunnerOptions as LibraryOptions,
  OtherLog,
  rebuild as rebuildReadModels,
  requireSameLog as requireLog,
  runnerConnections,
} from '../lib/projections/projections.ts';
import { PROJECTIONS } from './all.ts';
import { END_ANALYSES } from './analytics.ts';
import type { Projection } from './projection.ts';

/** Connections that a runner of every projection needs. */
export const RUNNER_CONNECTIONS = runnerConnections(PROJECTIONS);

/** @throws {StartRefused} the read models were made from another log. */
export const requireSameLog = async (db: Database, logId: string): Promise<void> => {
  try {
    await requireLog(db, logId);
  } catch (error) {
    if (!(error instanceof OtherLog)) throw error;
    throw new StartRefused(
      `${error.message}: set EVENTSTORE_URL as the service that made them has it, or stop every service and rebuild them from this log with "outbox projections rebuild all"`,
    );
  }
};

/** Analysts' queries may be ended when new tables replace those that they read. */
const endHoldUps = (pool: Pool): Promise<unknown> => pool.query(END_ANALYSES);

export type RunnerOptions = Omit<LibraryOptions, 'projections' | 'isFatal' | 'endHoldUps'> & {
  /** Default: every projection. */
  readonly projections?: readonly Projection[];
};

/** Keeps projections running, and rebuilds those of an older version. */
export const createProjectionRunner = (options: RunnerOptions): ReturnType<typeof createRunner> =>
  createRunner({ projections: PROJECTIONS, ...options, isFatal, endHoldUps });

/** Rebuilds read models while the live ones are read. @throws {RebuildInProgress} */
export const rebuild = (
  options: Omit<Parameters<typeof rebuildReadModels>[0], 'endHoldUps'>,
  projections: readonly Projection[],
): ReturnType<typeof rebuildReadModels> => rebuildReadModels({ ...options, endHoldUps }, projections);
