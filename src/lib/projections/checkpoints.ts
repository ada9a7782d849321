import type { Pool, PoolClient } from 'pg';
import { pause, StartRefused, type System, shareCalls, untilAborted } from '../async/async.ts';
import { LOG_START, type Position, PositionNotInLog, type StreamName } from '../event-log/event-log.ts';
import { type Database, rebuiltNow, withConnection } from './database.ts';
import type { Log, LogEvent, Projection } from './projection.ts';

export interface Checkpoint {
  readonly version: number;
  readonly logId: string;
  readonly position: Position;
}

/** Consecutive events that are applied in one transaction. */
export interface Batch {
  /** The checkpoint before the batch. */
  readonly after: Position;
  /** The checkpoint after it: at or beyond the last event. */
  readonly position: Position;
  readonly events: readonly LogEvent[];
}

/** The checkpoint moved: another process runs the projection, or a rebuild replaced it. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
  constructor(projection: string) {
    super(`the checkpoint of read model ${projection} was moved by another process: this runner starts over`);
  }
}

const ENSURE = `
  insert into checkpoints (name, version, log_id, position) values ($1, $2, $3, '')
  on conflict (name) do nothing`;

const READ = `select version, log_id as "logId", position from checkpoints where name = $1`;

/** The checkpoint, created at the start of the log if missing. */
export const readCheckpoint = async (
  db: Database,
  { name, version }: Projection,
  logId: string,
): Promise<Checkpoint> => {
  await db.query(ENSURE, [name, version, logId]);
  const { rows } = await db.query<Checkpoint>(READ, [name]);
  return rows[0] ?? { version, logId, position: '' };
};

const PARKED = 'array(select distinct p.stream from parked_events p where p.projection = $1) as parked';

/** First statement of every transaction on a read model: the holder of this row may change its tables. */
const MOVE = `
  update checkpoints set position = $3, occurred_at = coalesce($4, occurred_at)
  where name = $1 and position = $2 and version = $5 and log_id = $6
  returning ${PARKED}`;

/** @returns streams that are parked. @throws {Fenced} */
export const moveCheckpoint = async (
  db: Database,
  { name, version }: Projection,
  { batch, logId }: { readonly batch: Batch; readonly logId: string },
): Promise<ReadonlySet<StreamName>> => {
  const occurredAt = batch.events.at(-1)?.metadata.occurredAt ?? null;
  const { rows } = await db.query<{ parked: StreamName[] }>({
    name: 'move-checkpoint',
    text: MOVE,
    values: [name, batch.after, batch.position, occurredAt, version, logId],
  });
  const row = rows[0];
  if (row === undefined) throw new Fenced(name);
  if (row.parked.length === 0) return new Set();
  // The update may have waited for a retry of parked events, and what it returns is older than that.
  const { rows: current } = await db.query<{ parked: StreamName[] }>(`select ${PARKED}`, [name]);
  return new Set(current[0]?.parked);
};

/** The read models were made from another log. */
export class OtherLog extends StartRefused {
  constructor(known: string, given: string) {
    super(`the read models were made from log ${known}, and this is log ${given}`);
  }
}

/** Whether a follower can continue from this position. */
export const isInLog = async (log: Pick<Log, 'readAll'>, position: Position): Promise<boolean> => {
  try {
    await log.readAll({ from: position, limit: 1 });
    return true;
  } catch (error) {
    if (error instanceof PositionNotInLog) return false;
    throw error;
  }
};

/** @throws {StartRefused} the log is an older copy: it ends before the read models' checkpoints. */
export const requireReached = async (db: Database, log: Pick<Log, 'readAll'>): Promise<void> => {
  const { rows } = await db.query<{ last: Position | null }>(
    'select max(position) as last from read_models.checkpoints',
  );
  if (await isInLog(log, rows[0]?.last ?? LOG_START)) return;
  throw new StartRefused(
    'the log is an older copy: it ends before the last event of the read models. Connect the newer log, or rebuild them from this one with "outbox projections rebuild all"',
  );
};

/** @throws {OtherLog} */
export const requireSameLog = async (db: Database, logId: string): Promise<void> => {
  const { rows } = await db.query<{ log_id: string }>(
    'select distinct log_id from read_models.checkpoints where log_id <> $1',
    [logId],
  );
  const other = rows[0]?.log_id;
  if (other !== undefined) throw new OtherLog(other, logId);
};

/** Shorter costs queries while callers wait, longer adds to their wait. */
const POLL_MS = 10;
const TIMEOUT_MS_DEFAULT = 2000;

/**
 * Positions for which readers of this process wait. A projection gathers events for a moment before it writes them, unless
 * a reader waits for its read model.
 */
export interface AwaitedPositions {
  /** A reader waits until these read models have passed a position. */
  note(names: readonly string[], position: Position): void;
  /**
   * Calls `hurry` as soon as a reader waits for the read model to go beyond a position, which may be now.
   * @returns stops that.
   */
  onBeyond(name: string, position: Position, hurry: () => void): () => void;
}

export const createAwaitedPositions = (): AwaitedPositions => {
  const awaited = new Map<string, Position>();
  const watching = new Map<string, () => void>();
  return {
    note: (names, position) => {
      for (const name of names) {
        if (position > (awaited.get(name) ?? LOG_START)) awaited.set(name, position);
        watching.get(name)?.();
      }
    },
    onBeyond: (name, position, hurry) => {
      const look = (): void => {
        if ((awaited.get(name) ?? LOG_START) > position) hurry();
      };
      watching.set(name, look);
      look();
      return () => {
        if (watching.get(name) === look) watching.delete(name);
      };
    },
  };
};

/** Channel on which a process says what its readers wait for: `<position> <read model>…`. */
const CHANNEL = 'outbox_awaited';
/** Longer lets readers of other processes wait longer after an outage, shorter hammers what is down. */
const LISTEN_AGAIN_MS = 1_000;

interface HurryOptions {
  readonly pool: Pool;
  readonly system: System;
  readonly awaited: Pick<AwaitedPositions, 'note'>;
  readonly signal: AbortSignal;
}

/** Notes for what readers of other processes wait, until the signal aborts. While it cannot, they wait up to a second. */
export const hurryForOthers = async ({ pool, system, awaited, signal }: HurryOptions): Promise<void> => {
  const listen = (client: PoolClient): Promise<unknown> => {
    const lost = new Promise((resolve) => client.once('end', resolve));
    client.on('notification', ({ payload = '' }) => {
      const [position = LOG_START, ...names] = payload.split(' ');
      awaited.note(names, position);
    });
    return client.query(`listen ${CHANNEL}`).then(() => untilAborted(signal, lost));
  };
  while (!signal.aborted) {
    await withConnection(pool, listen).catch(() => undefined); // the projections report that the database is away
    await pause(system, LISTEN_AGAIN_MS, signal);
  }
};

interface WaitOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Waits until the named read models have passed a position. @returns false: not in time. */
export type WaitFor = (names: readonly string[], position: Position, options?: WaitOptions) => Promise<boolean>;

const CHECKPOINTS = 'select name, position from read_models.checkpoints';

interface PassedCheckpoint {
  readonly name: string;
  readonly position: Position;
}

/** Positions by name of the read model. */
type PassedPositions = ReadonlyMap<string, Position>;

/**
 * Concurrent callers share one query; its result is not kept. Commits of projections do not wait for the disk
 * (`database.ts`), so checkpoints can move back after a crash, and a kept one would promise lost rows.
 */
const sharedRead = (pool: Database): (() => Promise<PassedPositions>) =>
  // A query begun before this call may be too old; the next poll corrects that.
  shareCalls(async () => {
    const { rows } = await pool.query<PassedCheckpoint>({ name: 'read-checkpoints', text: CHECKPOINTS });
    return new Map(rows.map(({ name, position }) => [name, position]));
  });

export interface WaitForOptions {
  readonly pool: Database;
  readonly system: System;
  /** Awaited positions of this process's projections. Absent: this process runs no projections. */
  readonly awaited?: AwaitedPositions | undefined;
}

/** Reads the checkpoints that projections, of any process, move with their rows. */
export const createWaitFor = ({ pool, system, awaited }: WaitForOptions): WaitFor => {
  const read = sharedRead(pool);
  let noted = '';
  /** Concurrent waiters for the same need no further notification. */
  const noteEverywhere = async (what: string): Promise<void> => {
    if (noted === what) return;
    noted = what;
    await pool.query('select pg_notify($1, $2)', [CHANNEL, what]);
  };
  return async (names, position, { timeoutMs = TIMEOUT_MS_DEFAULT, signal } = {}) => {
    const deadline = system.monotonicMs() + timeoutMs;
    const isOver = (): boolean => signal?.aborted === true || system.monotonicMs() >= deadline;
    const isPassed = (passed: PassedPositions): boolean =>
      names.every((name) => (passed.get(name) ?? LOG_START) >= position);
    for (let looks = 1; !isPassed(await read()); looks += 1) {
      if (isOver()) return false;
      awaited?.note(names, position);
      if (looks === 2) await noteEverywhere([position, ...names].join(' ')); // what runs in this process has passed by now
      await system.sleep(POLL_MS);
    }
    return true;
  };
};

/** ISO 8601; null: a read model has applied nothing. */
export type CompleteUntil = (names: readonly string[]) => Promise<string | null>;

const COMPLETE_UNTIL = `
  select case when count(*) = cardinality($1::text[]) and count(occurred_at) = count(*) then min(occurred_at) end as at
  from read_models.checkpoints where name = any($1)`;

/** Reads the time of the newest event that all of these read models have applied. */
export const createCompleteUntil =
  (pool: Database): CompleteUntil =>
  async (names) => {
    const { rows } = await pool.query<{ readonly at: Date | null }>(COMPLETE_UNTIL, [names]);
    return rows[0]?.at?.toISOString() ?? null;
  };

/** A read model that some process is rebuilding. The one before it is read until then. */
export interface RebuildProgress {
  readonly name: string;
  /** Part of the log that is in it, from 0 to 1. */
  readonly part: number;
}

const BUILT = 'select name, position from read_models_building.checkpoints where name = any($1)';

/** Positions begin with 16 digits: decimal ones in PostgreSQL, hexadecimal ones in EventStoreDB, whose positions go on. */
const POSITION_DIGITS = 16;
const lengthTo = (position: Position): number =>
  Number.parseInt(position.slice(0, POSITION_DIGITS), position.length > POSITION_DIGITS ? 16 : 10);

const partOf = (position: Position, head: Position): number =>
  position === LOG_START || head === LOG_START ? 0 : Math.min(1, lengthTo(position) / lengthTo(head));

/** Reads how far rebuilds are, whichever process runs them. */
export const createRebuildReader =
  ({ pool, store }: { readonly pool: Database; readonly store: Pick<Log, 'head'> }) =>
  async (): Promise<readonly RebuildProgress[]> => {
    const { rows: all } = await pool.query<{ readonly name: string }>('select name from read_models.checkpoints');
    const names = [
      ...(await rebuiltNow(
        pool,
        all.map(({ name }) => name),
      )),
    ];
    if (names.length === 0) return [];
    const { rows } = await pool.query<PassedCheckpoint>(BUILT, [names]);
    const positions = new Map(rows.map(({ name, position }) => [name, position]));
    const head = await store.head();
    return names.toSorted().map((name) => ({ name, part: partOf(positions.get(name) ?? LOG_START, head) }));
  };

export interface ProjectionLag {
  readonly name: string;
  /** Age of the oldest event missing in the read model; 0: none. */
  readonly seconds: number;
  /** Events that could not be applied and wait for `retryParked`. */
  readonly parkedEvents: number;
  /** How far of the log is in it. */
  readonly position: Position;
}

const CHECKPOINTS_AND_PARKED = `
  select c.name, c.position, (select count(*)::int from read_models.parked_events p where p.projection = c.name) as parked
  from read_models.checkpoints c
  order by c.name`;

interface Row {
  readonly name: string;
  readonly position: Position;
  readonly parked: number;
}

export interface LagOptions {
  readonly pool: Database;
  readonly store: Pick<Log, 'readAll'>;
  readonly system: System;
}

/** Reads the lag of each read model, wherever its projection runs. */
export const createLagReader = ({ pool, store, system }: LagOptions): (() => Promise<readonly ProjectionLag[]>) => {
  const ageBehind = async (position: Position): Promise<number> => {
    const { events } = await store.readAll({ from: position, limit: 1 });
    const oldest = events[0]?.metadata.occurredAt;
    return oldest === undefined ? 0 : Math.max(0, system.now().getTime() - Date.parse(oldest)) / 1000;
  };

  return async () => {
    const { rows } = await pool.query<Row>(CHECKPOINTS_AND_PARKED);
    const positions = [...new Set(rows.map(({ position }) => position))];
    const ages = new Map(
      await Promise.all(positions.map(async (position) => [position, await ageBehind(position)] as const)),
    );
    return rows.map(({ name, position, parked }) => ({
      name,
      seconds: ages.get(position) ?? 0,
      parkedEvents: parked,
      position,
    }));
  };
};
