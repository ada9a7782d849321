import type { Pool } from 'pg';
import type { EventStore, Position } from '../domain/kernel/event-store.ts';
import type { Logger } from '../lib/async/async.ts';
import { END_ANALYSES } from './analytics.ts';
import { allOf, applyTo, type Build, beginReading, catchUp, withBuilds } from './builds.ts';
import { isInLog, readCheckpoint } from './checkpoints.ts';
import { inTransaction } from './database.ts';
import type { Projection } from './projection.ts';
import { makeIndexes, makeTables, switchTables } from './rebuild-tables.ts';
import { endWhenGone, tryLockRebuilding, withConnection } from './session.ts';

/** How long the switch waits for queries on the live tables before it lets others pass and retries. */
const SWITCH_LOCK_TIMEOUT = '2s';
const SWITCH_ATTEMPTS_MAX = 10;
/** A process that freezes during the switch blocks queries of the read model this long, then must start over. */
const SWITCH_SILENCE = '30s';

export interface RebuildOptions {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'logId' | 'readAll' | 'head'>;
  readonly logger: Logger;
  /** Ends the rebuild between two batches; the live read models stay as they are. */
  readonly signal?: AbortSignal;
}

export interface Rebuilt {
  readonly name: string;
  /** Events of the log that were read. */
  readonly events: number;
  readonly parkedEvents: number;
}

/** Another process is rebuilding the read model. */
export class RebuildInProgress extends Error {
  override readonly name = 'RebuildInProgress';
  constructor(projection: string) {
    super(`read model ${projection} is being rebuilt by another process`);
  }
}

interface RebuildState extends RebuildOptions {
  readonly logId: string;
  readonly builds: readonly Build[];
}

/** Locks one after another, so that of two processes one gets all. @throws {RebuildInProgress} */
const lock = async ({ client, projection }: Build['target']): Promise<void> => {
  await endWhenGone(client);
  if (!(await tryLockRebuilding(client, projection.name))) throw new RebuildInProgress(projection.name);
};

const prepare = async ({ client, projection, logId }: Build['target']): Promise<void> => {
  await client.query('set search_path to read_models');
  await readCheckpoint(client, projection, logId); // creates the live checkpoint to switch
  await makeTables(client, projection, 'read_models_building');
  await client.query('set search_path to read_models_building');
  await readCheckpoint(client, projection, logId);
};

const LOCK_LIVE = 'select position, log_id as "logId" from read_models.checkpoints where name = $1 for update';

/** Read models never move backwards: a client would see its own write vanish. */
const catchUpTo = async (rebuilding: RebuildState, build: Build, position: Position): Promise<void> => {
  while (build.position < position) {
    const from = build.position;
    await catchUp(rebuilding, [build]);
    // In a shared EventStoreDB a follower passes events of others, and a reader does not.
    if (build.position === from) await applyTo(build, { events: [], position });
  }
};

/** Holds the live checkpoint, so that the running projection waits and then continues on the new tables. */
const switchOver = (rebuilding: RebuildState, build: Build): Promise<void> =>
  withConnection(rebuilding.pool, (db) =>
    inTransaction(db, 'read_models', async () => {
      const { projection } = build.target;
      await db.query(`set local lock_timeout to '${SWITCH_LOCK_TIMEOUT}'`);
      await db.query(`set local idle_in_transaction_session_timeout to '${SWITCH_SILENCE}'`);
      const { rows } = await db.query<{ position: Position; logId: string }>(LOCK_LIVE, [projection.name]);
      const live = rows[0];
      const isAhead =
        live?.logId === rebuilding.logId &&
        live.position > build.position &&
        (await isInLog(rebuilding.store, live.position));
      if (isAhead) await catchUpTo(rebuilding, build, live.position);
      if (!(await switchTables(db, projection, build.position))) throw new RebuildInProgress(projection.name);
    }),
  );

/** `lock_not_available`, `deadlock_detected`: queries held the live tables too long. */
const isHeldUp = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01');

const switchWithRetries = async (rebuilding: RebuildState, build: Build): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await switchOver(rebuilding, build);
    } catch (error) {
      if (!isHeldUp(error) || attempt >= SWITCH_ATTEMPTS_MAX) throw error;
      await rebuilding.pool.query(END_ANALYSES);
      await catchUp(rebuilding, [build]);
    }
  }
};

const build = async (rebuilding: RebuildState): Promise<readonly Rebuilt[]> => {
  const { builds, logger } = rebuilding;
  const reading = beginReading(rebuilding, builds);
  for (const { target } of builds) await lock(target);
  await allOf(builds, prepare);
  const events = await catchUp(rebuilding, builds, reading);
  await allOf(builds, ({ client, projection }) => makeIndexes(client, projection, 'read_models_building'));
  const later = await catchUp(rebuilding, builds);
  for (const one of builds) {
    await switchWithRetries(rebuilding, one);
    logger.info({ projection: one.target.projection.name, events }, 'a read model was rebuilt and switched');
  }
  return builds.map(({ target, parkedEvents }) => ({
    name: target.projection.name,
    events: events + later,
    parkedEvents,
  }));
};

/**
 * Rebuilds read models in parallel to the live ones, reading the log once for all, and switches each in one transaction.
 * Projections may keep running, in this process or another.
 * The pool needs a connection for each, and two more.
 * @throws {RebuildInProgress}
 */
export const rebuild = async (
  options: RebuildOptions,
  projections: readonly Projection[],
): Promise<readonly Rebuilt[]> => {
  const logId = await options.store.logId();
  return withBuilds({ pool: options.pool, schema: 'read_models_building', logId }, projections, (builds) =>
    build({ ...options, logId, builds }),
  );
};
