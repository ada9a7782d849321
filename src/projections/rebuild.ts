import type { Pool, PoolClient } from 'pg';
import { type EventStore, LOG_START, type Page, type Position } from '../domain/ports/event-store.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { END_ANALYSES } from './analytics.ts';
import { applyBatch, type Target } from './batch.ts';
import { isInLog, readCheckpoint } from './checkpoints.ts';
import { inTransaction } from './database.ts';
import type { Projection } from './projection.ts';
import { makeIndexes, makeTables, switchTables } from './rebuild-tables.ts';
import { endWhenGone, tryLockRebuilding, withConnection } from './session.ts';

/** Events per transaction of a rebuild. Higher costs memory, lower costs commits. */
const REBUILD_EVENTS_MAX = 5_000;
/** The same for large events: bytes of data in a page. */
const REBUILD_BYTES_MAX = 16_000_000;
/** Pages by which reading may lead the slowest read model. Higher costs memory, lower leaves processors idle. */
const PAGES_AHEAD = 3;
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

interface Build {
  readonly target: Target & { readonly client: PoolClient };
  position: Position;
  parkedEvents: number;
}

interface Rebuilding extends RebuildOptions {
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
  await makeTables(client, projection);
  await client.query('set search_path to read_models_building');
  await readCheckpoint(client, projection, logId);
};

/** Runs in parallel, each on its connection; returns when all have ended. @throws the first error. */
const allOf = async (builds: readonly Build[], work: (target: Build['target']) => Promise<void>): Promise<void> => {
  const ended = await Promise.allSettled(builds.map(({ target }) => work(target)));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
};

const applyTo = async (build: Build, page: Page): Promise<void> => {
  const batch = { after: build.position, position: page.position, events: page.events };
  const parked = await applyBatch(build.target, batch);
  build.parkedEvents += parked.length;
  build.position = page.position;
};

/** Each build applies page after page without waiting for the others. An error ends all after the current batch. */
const createLanes = (builds: readonly Build[], signal: AbortSignal | undefined) => {
  const failed = new AbortController();
  const applyNext = async (build: Build, before: Promise<void>, page: Page): Promise<void> => {
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
    apply: (page: Page): Promise<unknown> => {
      lanes = lanes.map(({ build, last }) => ({ build, last: applyNext(build, last, page) }));
      return Promise.all(lanes.map(({ last }) => last));
    },
    /** Resolves when all are idle. */
    end: (): Promise<unknown> => Promise.allSettled(lanes.map(({ last }) => last)),
  };
};

/** What is read next: the head of the log as it was then, and the page after a position that all builds have reached. */
interface Reading {
  readonly head: Promise<Position>;
  page: Promise<Page>;
}

const readPage = ({ store }: RebuildOptions, builds: readonly Build[], from: Position): Promise<Page> => {
  const categories = [...new Set(builds.flatMap(({ target }) => target.projection.categories))];
  const bounds = { limit: REBUILD_EVENTS_MAX, bytesMax: REBUILD_BYTES_MAX };
  const page = store.readAll({ from, filter: { categories }, ...bounds });
  page.catch(() => {}); // thrown when awaited
  return page;
};

const beginReading = (options: RebuildOptions, builds: readonly Build[]): Reading => {
  const head = options.store.head();
  head.catch(() => {}); // thrown when awaited
  return { head, page: readPage(options, builds, builds[0]?.position ?? LOG_START) };
};

/**
 * Reads the log from the builds' common position to its head. Each page is read while those before it are applied, so that
 * a log far away costs little time. @returns events read.
 */
const catchUp = async (
  options: RebuildOptions,
  builds: readonly Build[],
  reading: Reading = beginReading(options, builds),
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

const LOCK_LIVE = 'select position, log_id as "logId" from read_models.checkpoints where name = $1 for update';

/** Read models never move backwards: a client would see its own write vanish. */
const catchUpTo = async (rebuilding: Rebuilding, build: Build, position: Position): Promise<void> => {
  while (build.position < position) {
    const from = build.position;
    await catchUp(rebuilding, [build]);
    // In a shared EventStoreDB a follower passes events of others, and a reader does not.
    if (build.position === from) await applyTo(build, { events: [], position });
  }
};

/** Holds the live checkpoint, so that the running projection waits and then continues on the new tables. */
const switchOver = (rebuilding: Rebuilding, build: Build): Promise<void> =>
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

const switchWithRetries = async (rebuilding: Rebuilding, build: Build): Promise<void> => {
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

const build = async (rebuilding: Rebuilding): Promise<readonly Rebuilt[]> => {
  const { builds, logger } = rebuilding;
  const reading = beginReading(rebuilding, builds);
  for (const { target } of builds) await lock(target);
  await allOf(builds, prepare);
  const events = await catchUp(rebuilding, builds, reading);
  await allOf(builds, ({ client, projection }) => makeIndexes(client, projection));
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

/** One connection for each build, all held until the end. */
const withBuilds = async (
  options: RebuildOptions & { readonly logId: string },
  projections: readonly Projection[],
  builds: readonly Build[],
): Promise<readonly Rebuilt[]> => {
  const [projection, ...rest] = projections;
  if (projection === undefined) return build({ ...options, builds });
  return withConnection(options.pool, (client) => {
    const target = { client, projection, schema: 'read_models_building', logId: options.logId } as const;
    return withBuilds(options, rest, [...builds, { target, position: LOG_START, parkedEvents: 0 }]);
  });
};

/**
 * Rebuilds read models beside the live ones, reading the log once for all, and switches each in one transaction. Works
 * beside running projections, of this process or another.
 * The pool needs a connection for each, and two more.
 * @throws {RebuildInProgress}
 */
export const rebuild = async (
  options: RebuildOptions,
  projections: readonly Projection[],
): Promise<readonly Rebuilt[]> => withBuilds({ ...options, logId: await options.store.logId() }, projections, []);
