import {
  type EventStore,
  LOG_START,
  type Position,
  PositionNotInLog,
  type RecordedEvent,
  type StreamName,
} from '../domain/kernel/event-store.ts';
import { StartRefused } from '../lib/async/async.ts';
import type { Database } from './database.ts';
import type { Projection } from './projection.ts';

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
  readonly events: readonly RecordedEvent[];
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
export const otherLog = (known: string, given: string): StartRefused =>
  new StartRefused(
    `the read models were made from log ${known}, and this is log ${given}: set EVENTSTORE_URL as the service that made them has it, or stop every service and rebuild them from this log with "npm run outbox -- projections rebuild all"`,
  );

/** Whether a follower can continue from this position. */
export const isInLog = async (log: Pick<EventStore, 'readAll'>, position: Position): Promise<boolean> => {
  try {
    await log.readAll({ from: position, limit: 1 });
    return true;
  } catch (error) {
    if (error instanceof PositionNotInLog) return false;
    throw error;
  }
};

/** @throws {StartRefused} the log is an older copy: it ends before the read models' checkpoints. */
export const requireReached = async (db: Database, log: Pick<EventStore, 'readAll'>): Promise<void> => {
  const { rows } = await db.query<{ last: Position | null }>(
    'select max(position) as last from read_models.checkpoints',
  );
  if (await isInLog(log, rows[0]?.last ?? LOG_START)) return;
  throw new StartRefused(
    'the log is an older copy: it ends before the last event of the read models. Connect the newer log, or rebuild them from this one with "npm run outbox -- projections rebuild all"',
  );
};

/** @throws {StartRefused} the read models were made from another log. */
export const requireSameLog = async (db: Database, logId: string): Promise<void> => {
  const { rows } = await db.query<{ log_id: string }>(
    'select distinct log_id from read_models.checkpoints where log_id <> $1',
    [logId],
  );
  const other = rows[0]?.log_id;
  if (other !== undefined) throw otherLog(other, logId);
};
