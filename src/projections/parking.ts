import type { RecordedEvent, StreamName } from '../domain/ports/event-store.ts';
import { asRecords, type Database } from './database.ts';
import { isPoison } from './fault-kind.ts';
import type { Projection } from './projection.ts';

const PARK = `
  insert into parked_events (projection, position, stream, revision, type, error, parked_at)
  select $2, position, stream, revision, type, $3, now()
  from json_to_recordset($1) as e(position text, stream text, revision integer, type text)
  on conflict (projection, position) do update set error = excluded.error`;

/** Sets events aside for `retryParked`; their data stays where it is, in the log. */
export const park = async (
  db: Database,
  { name }: Projection,
  events: readonly RecordedEvent[],
  error: string,
): Promise<void> => {
  if (events.length === 0) return;
  const rows = events.map(({ position, stream, revision, type }) => ({ position, stream, revision, type }));
  await db.query(PARK, [...asRecords(rows), name, error]);
};

/** Not a byte that PostgreSQL could refuse in turn. */
const sentenceOf = (error: unknown): string => String(error).replaceAll('\0', '');

/**
 * Applies one event by itself under a savepoint; if it cannot be applied, it is parked and its stream with it.
 * @param parked streams that are parked; added to. @returns whether it was applied. @throws faults that may pass.
 */
export const applyOrPark = async (
  db: Database,
  projection: Projection,
  event: RecordedEvent,
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
