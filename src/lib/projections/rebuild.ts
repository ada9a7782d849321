import type { Pool, PoolClient } from 'pg';
import type { Logger } from '../async/async.ts';
import { LOG_START, type LogProofs, type Position } from '../event-log/event-log.ts';
import { applyBatch, type Target } from './apply-or-park.ts';
import { isInLog, readCheckpoint } from './checkpoints.ts';
import {
  type Database,
  endWhenGone,
  inTransaction,
  type ReadModelSchema,
  tryLockRebuilding,
  withConnection,
} from './database.ts';
import type { Log, LogPage, Projection } from './projection.ts';

/**
 * Builds read models from the log in parallel to the live ones, for a rebuild or a replay. The log is read once for all of
 * them, and each applies its pages on a connection of its own, with one transaction per page.
 */

/** Events per transaction of a rebuild. Higher costs memory, lower costs commits. */
const REBUILD_EVENTS_MAX = 5_000;
/** The same for large events: bytes of data in a page. */
const REBUILD_BYTES_MAX = 16_000_000;
/** Pages by which reading may lead the slowest read model. Higher costs memory, lower leaves processors idle. */
const PAGES_AHEAD = 3;

/** Source of the events for the builds. */
export interface Source {
  readonly store: Pick<Log, 'readAll' | 'head'>;
  /** Ends the reading between two batches. */
  readonly signal?: AbortSignal;
}

/** A read model that is made, and how far it is. */
export interface Build {
  readonly target: Target & { readonly client: PoolClient };
  position: Position;
  parkedEvents: number;
}

/** Runs in parallel, each on its connection; returns when all have ended. @throws the first error. */
export const allOf = async (
  builds: readonly Build[],
  work: (target: Build['target']) => Promise<void>,
): Promise<void> => {
  const ended = await Promise.allSettled(builds.map(({ target }) => work(target)));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
};

const applyTo = async (build: Build, page: LogPage): Promise<void> => {
  const batch = { after: build.position, position: page.position, events: page.events };
  const parked = await applyBatch(build.target, batch);
  build.parkedEvents += parked.length;
  build.position = page.position;
};

/** Each build applies page after page without waiting for the others. An error ends all after the current batch. */
const createLanes = (builds: readonly Build[], signal: AbortSignal | undefined) => {
  const failed = new AbortController();
  const applyNext = async (build: Build, before: Promise<void>, page: LogPage): Promise<void> => {
    await before;
    signal?.throwIfAborted();
    failed.signal.throwIfAborted();
    try {
      await applyTo(build, page);
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };
  let lanes = builds.map((build) => ({ build, last: Promise.resolve() }));
  return {
    /** Resolves when all have applied this page. */
    apply: (page: LogPage): Promise<unknown> => {
      lanes = lanes.map(({ build, last }) => ({ build, last: applyNext(build, last, page) }));
      return Promise.all(lanes.map(({ last }) => last));
    },
    /** Resolves when all are idle. */
    end: (): Promise<unknown> => Promise.allSettled(lanes.map(({ last }) => last)),
  };
};

/** The next read: the head of the log at its start, and the page after a position that all builds have reached. */
interface SourceRead {
  readonly head: Promise<Position>;
  page: Promise<LogPage>;
}

const readPage = ({ store }: Source, builds: readonly Build[], from: Position): Promise<LogPage> => {
  const categories = [...new Set(builds.flatMap(({ target }) => target.projection.categories))];
  const bounds = { limit: REBUILD_EVENTS_MAX, bytesMax: REBUILD_BYTES_MAX };
  const page = store.readAll({ from, filter: { categories }, ...bounds });
  page.catch(() => {}); // thrown when awaited
  return page;
};

const beginReading = (options: Source, builds: readonly Build[]): SourceRead => {
  const head = options.store.head();
  head.catch(() => {}); // thrown when awaited
  return { head, page: readPage(options, builds, builds[0]?.position ?? LOG_START) };
};

/**
 * Reads the log from the builds' common position to its head. Each page is read while those before it are applied, so that
 * a log far away costs little time. @returns events read.
 */
export const catchUp = async (
  options: Source,
  builds: readonly Build[],
  reading: SourceRead = beginReading(options, builds),
): Promise<number> => {
  const { signal } = options;
  const lanes = createLanes(builds, signal);
  const pages: Promise<unknown>[] = [];
  let count = 0;
  try {
    for (let isRead = false; !isRead; ) {
      signal?.throwIfAborted();
      const page = await reading.page;
      isRead = page.position >= (await reading.head);
      if (!isRead) reading.page = readPage(options, builds, page.position);
      const applied = lanes.apply(page);
      applied.catch(() => {}); // thrown when awaited
      pages.push(applied);
      count += page.events.length;
      if (pages.length > PAGES_AHEAD) await pages.shift();
    }
    await Promise.all(pages);
    return count;
  } finally {
    await lanes.end();
  }
};

/** Target of a build. */
interface Place extends Pick<Target, 'proofs'> {
  readonly pool: Pool;
  readonly schema: ReadModelSchema;
  readonly logId: string;
}

/** Gives `work` a build of each projection, none of which has read anything. One connection for each, all held to the end. */
export const withBuilds = async <T>(
  place: Place,
  projections: readonly Projection[],
  work: (builds: readonly Build[]) => Promise<T>,
  builds: readonly Build[] = [],
): Promise<T> => {
  const [projection, ...rest] = projections;
  if (projection === undefined) return work(builds);
  return withConnection(place.pool, (client) => {
    const { schema, logId, proofs } = place;
    const target = { client, projection, schema, logId, proofs };
    return withBuilds(place, rest, work, [...builds, { target, position: LOG_START, parkedEvents: 0 }]);
  });
};

const TABLE_OPTIONS = `
  select coalesce(' with (' || array_to_string(reloptions, ', ') || ')', '') as options
  from pg_class where oid = $1::regclass`;

const CONSTRAINTS = `
  select conname as name, pg_get_constraintdef(oid) as definition
  from pg_constraint where conrelid = $1::regclass and contype in ('p', 'u')`;

/** Indexes beside those of constraints. */
const INDEXES = `
  select replace(pg_get_indexdef(i.indexrelid), ' ON read_models.', ' ON ' || $2 || '.') as definition
  from pg_index i
  where i.indrelid = $1::regclass and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`;

/**
 * Creates empty tables like the live ones, without the indexes that only queries need. Deletes the checkpoint first, so
 * that another rebuild cannot switch the tables it replaces.
 */
export const makeTables = async (
  db: Database,
  { name, tables }: Projection,
  schema: ReadModelSchema,
): Promise<void> => {
  await db.query(`delete from ${schema}.checkpoints where name = $1`, [name]);
  for (const table of tables) {
    const live = [`read_models.${table}`];
    const { rows: options } = await db.query<{ options: string }>(TABLE_OPTIONS, live);
    const { rows: constraints } = await db.query<{ name: string; definition: string }>(CONSTRAINTS, live);
    await db.query(`drop table if exists ${schema}.${table}`);
    await db.query(
      `create table ${schema}.${table} (like read_models.${table} including all excluding indexes)${options[0]?.options ?? ''}`,
    );
    for (const constraint of constraints) {
      await db.query(`alter table ${schema}.${table} add constraint "${constraint.name}" ${constraint.definition}`);
    }
  }
  await db.query(`delete from ${schema}.parked_events where projection = $1`, [name]);
};

/** Creates the indexes that queries need, which is much cheaper after the rows are in. */
export const makeIndexes = async (db: Database, { tables }: Projection, schema: ReadModelSchema): Promise<void> => {
  for (const table of tables) {
    const { rows } = await db.query<{ definition: string }>(INDEXES, [`read_models.${table}`, schema]);
    for (const { definition } of rows) await db.query(definition);
    await db.query(`analyze ${schema}.${table}`);
  }
};

/** Keeps the later time of the two if the log is the same. */
const SWITCH_CHECKPOINT = `
  with moved as (delete from read_models_building.checkpoints where name = $1 and position = $2 returning *)
  update read_models.checkpoints c set version = moved.version, log_id = moved.log_id, position = moved.position,
    occurred_at = case when c.log_id = moved.log_id then greatest(c.occurred_at, moved.occurred_at)
      else moved.occurred_at end
  from moved where c.name = moved.name`;

const SWITCH_PARKED = `
  with moved as (delete from read_models_building.parked_events where projection = $1 returning *)
  insert into read_models.parked_events select * from moved`;

/**
 * Views over a table, and the statements that lock one and point it to the table that now has the name. Views are locked
 * before tables, as their readers do. The definition names tables by the search path, which is that of the transaction.
 */
const VIEWS = `
  select distinct format('alter view %s set (security_barrier)', v.oid::regclass) as lock,
    format('create or replace view %s%s as %s', v.oid::regclass,
      ' with (' || array_to_string(v.reloptions, ', ') || ')', pg_get_viewdef(v.oid)) as definition
  from pg_depend d
  join pg_rewrite r on r.oid = d.objid
  join pg_class v on v.oid = r.ev_class
  where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = $1::regclass
    and v.relkind = 'v'`;

/** Replaces a live table, under the views over it. */
const switchTable = async (db: Database, table: string): Promise<void> => {
  const { rows: views } = await db.query<{ lock: string; definition: string }>(VIEWS, [`read_models.${table}`]);
  for (const { lock } of views) await db.query(lock);
  await db.query(`alter table read_models.${table} set schema read_models_replaced`);
  await db.query(`alter table read_models_building.${table} set schema read_models`);
  for (const { definition } of views) await db.query(definition);
  await db.query(`drop table read_models_replaced.${table}`);
};

/**
 * Replaces the live tables by the new ones, in the caller's transaction, which holds the live checkpoint.
 * @returns false: the new tables are not at this position, because another process rebuilds them.
 */
export const switchTables = async (db: Database, { name, tables }: Projection, position: string): Promise<boolean> => {
  const { rowCount } = await db.query(SWITCH_CHECKPOINT, [name, position]);
  if (rowCount === 0) return false;
  for (const table of tables) await switchTable(db, table);
  await db.query('delete from read_models.parked_events where projection = $1', [name]);
  await db.query(SWITCH_PARKED, [name]);
  return true;
};

/** How long the switch waits for queries on the live tables before it lets others pass and retries. */
const SWITCH_LOCK_TIMEOUT = '2s';
const SWITCH_ATTEMPTS_MAX = 10;
/** A process that freezes during the switch blocks queries of the read model this long, then must start over. */
const SWITCH_SILENCE = '30s';

interface RebuildOptions {
  readonly pool: Pool;
  readonly store: Pick<Log, keyof LogProofs | 'logId' | 'readAll' | 'head'>;
  readonly logger: Logger;
  /** Ends the sessions that may be ended when they hold up the switch to new tables. */
  readonly endHoldUps: (pool: Pool) => Promise<unknown>;
  /** Ends the rebuild between two batches; the live read models stay as they are. */
  readonly signal?: AbortSignal;
}

interface Rebuilt {
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
      await rebuilding.endHoldUps(rebuilding.pool);
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
    logger.info({ projection: one.target.projection.name, events }, 'rebuilt a read model and switched to it');
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
  const { pool, store } = options;
  const logId = await store.logId();
  const place: Place = { pool, schema: 'read_models_building', logId, proofs: store };
  return withBuilds(place, projections, (builds) => build({ ...options, logId, builds }));
};
