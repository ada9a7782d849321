import { ownTurn } from '../async/async.ts';
import { categoryOf, type LogProofs, type StreamName } from '../event-log/event-log.ts';
import { type Batch, moveCheckpoint } from './checkpoints.ts';
import { asRecords, type Database, inTransaction, type ReadModelSchema } from './database.ts';
import type { LogEvent, Projection } from './projection.ts';

/** One read model of one log, live or being rebuilt, on a connection of its own. */
export interface Target {
  readonly client: Database;
  readonly projection: Projection;
  readonly schema: ReadModelSchema;
  readonly logId: string;
  /** Those of the log. */
  readonly proofs?: LogProofs | undefined;
}

const isOf = (streams: ReadonlySet<StreamName>) => (event: LogEvent) => streams.has(event.stream);

/**
 * Items of one slice: some 15 ms of work for the read models that write the most. More hold up requests; fewer write rows
 * that several events change more often: a rebuild in slices of 2,000 takes a third more of both processes' time.
 */
export const SLICE_ITEMS_MAX = 6_000;

/** Number of rows that an event may cause: one for itself, and one for each item of a list in it. */
const itemsOf = ({ data }: LogEvent): number =>
  Object.values(data as object).reduce((items, value) => items + (Array.isArray(value) ? value.length : 0), 1);

/** Splits consecutive events into slices. An event that is larger than a slice gets one of its own. */
const slicesOf = (events: readonly LogEvent[]): readonly (readonly LogEvent[])[] => {
  const slices: LogEvent[][] = [];
  let room = 0;
  for (const event of events) {
    const items = itemsOf(event);
    if (items > room) {
      slices.push([]);
      room = SLICE_ITEMS_MAX;
    }
    slices.at(-1)?.push(event);
    room -= items;
  }
  return slices;
};

/** The slices of all projections begin in different turns of the event loop, with requests in between. */
const applySliced = async ({ client, projection, proofs }: Target, events: readonly LogEvent[]) => {
  const slices = slicesOf(events.filter(({ stream }) => follows(projection, stream)));
  for (const slice of slices) {
    if (slices.length > 1) await ownTurn();
    await projection.apply(client, slice, proofs);
  }
};

/** Applies a batch. Events of a stream with a parked event are parked too. */
const applyAll = (target: Target, batch: Batch): Promise<void> => {
  const { client, projection, schema, logId } = target;
  return inTransaction(client, schema, async () => {
    const parked = await moveCheckpoint(client, projection, { batch, logId });
    if (parked.size === 0) return applySliced(target, batch.events);
    const behind = batch.events.filter(isOf(parked)).filter(({ stream }) => follows(projection, stream));
    await park(client, projection, behind, 'an earlier event of this stream is parked');
    await applySliced(
      target,
      batch.events.filter((event) => !parked.has(event.stream)),
    );
  });
};

const follows = ({ categories }: Projection, stream: StreamName): boolean => categories.includes(categoryOf(stream));

const applyOneByOne = ({ client, projection, schema, logId }: Target, batch: Batch): Promise<readonly LogEvent[]> =>
  inTransaction(client, schema, async () => {
    const parked = new Set(await moveCheckpoint(client, projection, { batch, logId }));
    const newlyParked: LogEvent[] = [];
    for (const event of batch.events.filter(({ stream }) => follows(projection, stream))) {
      const applied = await applyOrPark(client, projection, event, parked);
      if (!applied) newlyParked.push(event);
    }
    return newlyParked;
  });

/**
 * Applies a batch and moves the checkpoint in one transaction. If an event cannot be applied, the batch is repeated event
 * by event, and that event is parked, unless the read model must be whole.
 * @returns newly parked events. @throws {Fenced}, and temporary faults.
 */
export const applyBatch = async (target: Target, batch: Batch): Promise<readonly LogEvent[]> => {
  try {
    await applyAll(target, batch);
    return [];
  } catch (error) {
    if (target.projection.isWhole === true || !isPoison(error)) throw error;
    return applyOneByOne(target, batch);
  }
};

const PARK = `
  insert into parked_events (projection, position, stream, revision, type, error, parked_at)
  select $2, position, stream, revision, type, $3, now()
  from json_to_recordset($1) as e(position text, stream text, revision integer, type text)
  on conflict (projection, position) do update set error = excluded.error`;

/** Parks events for `retryParked`. Their data stays in the log. */
const park = async (db: Database, { name }: Projection, events: readonly LogEvent[], error: string): Promise<void> => {
  if (events.length === 0) return;
  const rows = events.map(({ position, stream, revision, type }) => ({ position, stream, revision, type }));
  await db.query(PARK, [...asRecords(rows), name, error]);
};

/** Without bytes that PostgreSQL refuses. */
const sentenceOf = (error: unknown): string => String(error).replaceAll('\0', '');

/**
 * Applies one event under a savepoint, or parks it with its stream.
 * @param parked streams that are parked; added to. @returns whether it was applied. @throws temporary faults.
 */
export const applyOrPark = async (
  db: Database,
  projection: Projection,
  event: LogEvent,
  parked: Set<StreamName>,
): Promise<boolean> => {
  if (parked.has(event.stream)) {
    await park(db, projection, [event], 'an earlier event of this stream is parked');
    return false;
  }
  await db.query('savepoint event');
  try {
    await projection.apply(db, [event]);
    await db.query('release savepoint event');
    return true;
  } catch (error) {
    if (!isPoison(error)) throw error;
    await db.query('rollback to savepoint event');
    await park(db, projection, [event], sentenceOf(error));
    parked.add(event.stream);
    return false;
  }
};

/**
 * SQLSTATE classes of faults in the data: data exception, integrity violation, a program limit such as the size of an
 * index row. Any other fault (connection, serialization, deadlock, shutdown, full disk, missing table) is temporary or
 * would fail for every event.
 */
const DATA_CLASSES: ReadonlySet<string> = new Set(['22', '23', '54']);
const STATEMENT_TOO_COMPLEX = '54001';

/** Errors about a value. Drivers and sockets throw plain errors. */
const isAboutAValue = (error: unknown): boolean =>
  error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError;

/** Whether the event fails every time and must be parked. Other faults are retried. */
export const isPoison = (error: unknown): boolean => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code !== 'string') return isAboutAValue(error);
  return DATA_CLASSES.has(code.slice(0, 2)) && code !== STATEMENT_TOO_COMPLEX;
};
