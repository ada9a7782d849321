import { escapeLiteral, type Pool, type PoolClient } from 'pg';
import { cutAt, type Moment } from '../domain/audit/leaf.ts';
import type { EventStore, Page, Position, RecordedEvent } from '../domain/kernel/event-store.ts';
import type { System } from '../lib/async/async.ts';
import {
  allOf,
  type Build,
  catchUp,
  type Database,
  endWhenGone,
  makeIndexes,
  makeTables,
  readCheckpoint,
  type Source,
  tryLockReplaying,
  withBuilds,
  withConnection,
} from '../lib/projections/projections.ts';
import { PROJECTIONS } from './all.ts';
import { dropReaderRole, newReaderRole, type ReaderRole } from './analytics.ts';
import { destinationsProjection } from './destinations.ts';
import type { Projection } from './projection.ts';

/**
 * Builds the read models of a past moment in a schema of their own, and a database role that can read only them. The
 * projections build them from the part of the log that existed then (`cutAt`).
 *
 * The tables are filled under the name `unfinished_<schema>` and get their name at the end, in the transaction that creates
 * the role: a schema that has its name is whole. What an interrupted run leaves is dropped by the next of the same name.
 * The vault is as it is now: read models hold no contents.
 */

/** Sessions of the role at the same time. */
const READER_CONNECTIONS = 5;
/** Reports may take longer than on live tables: nothing here is written to. */
const READER_TIMEOUT_SECONDS = 600;
/** Events between two notes of progress: some seconds. */
const PROGRESS_EVENTS = 50_000;

export type ReplaySchema = `replay_${string}`;
type UnfinishedSchema = `unfinished_${ReplaySchema}`;

/** Lower case, so that it needs no quotes, and short enough for PostgreSQL (63 bytes) with what is put before it. */
const SCHEMA = /^replay_[a-z0-9_]{1,40}$/;

export const isReplaySchema = (name: string): name is ReplaySchema => SCHEMA.test(name);

/** The replay cannot be made or dropped; the message says why. */
export class ReplayRefused extends Error {
  override readonly name = 'ReplayRefused';
}

export interface Replay {
  readonly schema: ReplaySchema;
  /** A time, or `leaf:<n>`. */
  readonly until: string;
  /** null: of all. */
  readonly organizationId: string | null;
  readonly events: number;
  readonly parkedEvents: number;
  /** null: there was no event. */
  readonly lastEventAt: string | null;
  /** Reads the schema. */
  readonly role: string;
  readonly createdAt: string;
}

/** A replay is kept as the comment of its schema, behind this word. */
const COMMENT = 'replay ';

/** How far it is. Times are those of events. */
interface Counts {
  /** Events of the log that were read. */
  readonly read: number;
  /** Those of them that were there. */
  readonly kept: number;
  readonly readTo: string | null;
  /** null: there was none. */
  readonly lastEventAt: string | null;
}

export interface ReplayOptions {
  /** With a connection for each projection, and two more. */
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'logId' | 'readAll' | 'head'>;
  readonly system: System;
  readonly moment: Moment;
  readonly into: ReplaySchema;
  readonly signal?: AbortSignal;
  onProgress(progress: Counts): void;
}

/** Adds a page, and the events of it that were there. */
const count = (counts: Counts, read: Page, kept: readonly RecordedEvent[]): Counts => ({
  read: counts.read + read.events.length,
  kept: counts.kept + kept.length,
  readTo: read.events.at(-1)?.metadata.occurredAt ?? counts.readTo,
  lastEventAt: kept.at(-1)?.metadata.occurredAt ?? counts.lastEventAt,
});

/** The log up to its head of now, of which only those events are seen that were there. To be read once, in order. */
const storeUntil = ({ store, moment, onProgress }: ReplayOptions, head: Position) => {
  const cut = cutAt(moment);
  let counts: Counts = { read: 0, kept: 0, readTo: null, lastEventAt: null };
  const readAll: EventStore['readAll'] = async (options) => {
    const page = await store.readAll(options);
    const events = page.events.filter(cut.holds);
    const before = counts.read;
    counts = count(counts, page, events);
    if (Math.floor(counts.read / PROGRESS_EVENTS) > Math.floor(before / PROGRESS_EVENTS)) onProgress(counts);
    return { events, position: cut.isOver() && page.position < head ? head : page.position };
  };
  return { readAll, head: async () => head, counts: () => counts };
};

/** Destinations are shared by all organizations, so a replay of one organization omits them. */
const projectionsOf = ({ organizationId }: Moment): readonly Projection[] =>
  organizationId === null ? PROJECTIONS : PROJECTIONS.filter((each) => each !== destinationsProjection);

const isThere = async (db: Database, schema: string): Promise<boolean> => {
  const { rows } = await db.query<{ there: boolean }>('select to_regnamespace($1) is not null as there', [schema]);
  return rows[0]?.there === true;
};

const createSchema = (db: Database, schema: UnfinishedSchema): Promise<unknown> =>
  db.query(`
    drop schema if exists ${schema} cascade;
    create schema ${schema};
    create table ${schema}.checkpoints (like read_models.checkpoints including all);
    create table ${schema}.parked_events (like read_models.parked_events including all)`);

const makeRows = async (source: Source, builds: readonly Build[], schema: UnfinishedSchema): Promise<number> => {
  await allOf(builds, async ({ client, projection, logId }) => {
    await client.query(`set search_path to ${schema}`);
    await makeTables(client, projection, schema);
    await readCheckpoint(client, projection, logId);
  });
  await catchUp(source, builds);
  await allOf(builds, ({ client, projection }) => makeIndexes(client, projection, schema));
  return builds.reduce((sum, { parkedEvents }) => sum + parkedEvents, 0);
};

/** Gives the schema its name, and the role its rights, in one transaction. */
const publish = (db: Database, unfinished: UnfinishedSchema, made: Replay, { role, sql }: ReaderRole) =>
  db.query(`
    ${sql}
    alter schema ${unfinished} rename to ${made.schema};
    comment on schema ${made.schema} is ${escapeLiteral(COMMENT + JSON.stringify(made))};
    grant usage on schema ${made.schema} to ${role};
    grant select on all tables in schema ${made.schema} to ${role}`);

const make = async (options: ReplayOptions, unfinished: UnfinishedSchema): Promise<Replay & { password: string }> => {
  const { pool, store, system, moment, into, signal } = options;
  const [head, logId] = await Promise.all([store.head(), store.logId()]);
  const past = storeUntil(options, head);
  const source = { store: past, ...(signal !== undefined && { signal }) };
  await createSchema(pool, unfinished);
  const parkedEvents = await withBuilds({ pool, schema: unfinished, logId }, projectionsOf(moment), (builds) =>
    makeRows(source, builds, unfinished),
  );
  const { kept, lastEventAt } = past.counts();
  if (moment.leaf !== undefined && kept <= moment.leaf) {
    throw new ReplayRefused(
      `the tree of ${moment.organizationId} has ${kept} leaves: leaf:${moment.leaf} is not there yet`,
    );
  }
  signal?.throwIfAborted();
  const reader = newReaderRole(system, {
    kind: 'replay',
    schema: into,
    connections: READER_CONNECTIONS,
    timeoutSeconds: READER_TIMEOUT_SECONDS,
  });
  const replay: Replay = {
    schema: into,
    until: moment.time ?? `leaf:${moment.leaf}`,
    organizationId: moment.organizationId,
    events: kept,
    parkedEvents,
    lastEventAt: lastEventAt,
    role: reader.role,
    createdAt: system.now().toISOString(),
  };
  await publish(pool, unfinished, replay, reader);
  return { ...replay, password: reader.password };
};

/** One process at a time works on a schema. @throws {ReplayRefused} another does. */
const withLock = <T>(pool: Pool, schema: ReplaySchema, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  withConnection(pool, async (client) => {
    await endWhenGone(client);
    if (!(await tryLockReplaying(client, schema)))
      throw new ReplayRefused(`schema ${schema} is being made by another process`);
    const done = await work(client);
    // Closing the connection frees the lock too, but later than this promise is kept.
    await client.query('select pg_advisory_unlock_all()');
    return done;
  });

/**
 * Makes the read models of a moment, beside running projections of this process or another. The password of their role is
 * in no other place.
 * @throws {ReplayRefused}; what `catchUp` throws; the database's error `42501`: our own role may not create roles.
 */
export const replay = (options: ReplayOptions): Promise<Replay & { password: string }> => {
  const { pool, into } = options;
  const unfinished: UnfinishedSchema = `unfinished_${into}`;
  return withLock(pool, into, async (client) => {
    if (await isThere(client, into)) {
      throw new ReplayRefused(`schema ${into} exists: choose another name, or drop it with "replay drop ${into}"`);
    }
    try {
      return await make(options, unfinished);
    } catch (error) {
      await client.query(`drop schema if exists ${unfinished} cascade`).catch(() => undefined);
      throw error;
    }
  });
};

const LIST = `
  select substr(description, length($1) + 1) as replay
  from pg_namespace n join pg_description d on d.objoid = n.oid and d.classoid = 'pg_namespace'::regclass
  where starts_with(nspname, 'replay_') and starts_with(description, $1)
  order by nspname`;

/** Whole ones alone. */
export const listReplays = async (db: Database): Promise<readonly Replay[]> => {
  const { rows } = await db.query<{ replay: string }>(LIST, [COMMENT]);
  return rows.map(({ replay }) => JSON.parse(replay) as Replay); // as `publish` wrote it
};

/** Drops a replay and its role, or the remains of an interrupted run. @throws {ReplayRefused} if neither exists. */
export const dropReplay = (pool: Pool, schema: ReplaySchema): Promise<void> =>
  withLock(pool, schema, async (client) => {
    const unfinished: UnfinishedSchema = `unfinished_${schema}`;
    const found = (await listReplays(client)).find((each) => each.schema === schema);
    if (found === undefined && !(await isThere(client, unfinished)))
      throw new ReplayRefused(`there is no replay ${schema}: "replay list" lists them`);
    await client.query(`drop schema if exists ${unfinished} cascade`);
    if (found === undefined) return;
    const { rows } = await client.query('select from pg_roles where rolname = $1', [found.role]);
    if (rows.length > 0) await dropReaderRole(pool, found.role);
    await client.query(`drop schema ${schema} cascade`);
  });
