import {
  type Destination,
  type DestinationEvent,
  destination,
  type Suspension,
} from '../domain/destination/suspension.ts';
import { asRecords, type Database, type ListCursor, type ListPage, pageOf, rowsToAsk } from './database.ts';
import { defineProjection, foldInto, type StatesById, storedStates } from './projection.ts';

const SELECT = 'select operator as id, state from destinations where operator = any($1)';

const UPSERT = `
  insert into destinations (operator, since, suspended_until, state)
  select operator, since, "suspendedUntil", state
  from json_to_recordset($1) as d(operator text, since timestamptz, "suspendedUntil" timestamptz, state json)
  on conflict (operator) do update set since = excluded.since, suspended_until = excluded.suspended_until,
    state = excluded.state`;

const fold = foldInto(destination);

export const destinationsProjection = defineProjection<DestinationEvent, StatesById<Destination>>({
  name: 'destinations',
  version: 1,
  categories: [destination.category],
  tables: ['destinations'],
  handlers: { DestinationSuspended: fold, DestinationReleased: fold },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, destinations) => {
    const rows = [...destinations].map(([operator, state]) => {
      const { since = null, until = null } = state.suspension ?? {};
      return { operator, since, suspendedUntil: until, state };
    });
    await db.query(UPSERT, asRecords(rows));
  },
});

export interface ListSuspensions {
  /** The query uses this organization's share. */
  readonly organizationId: string;
  /** Those that last longer than this; ISO 8601. */
  readonly now: string;
  /** Sending domains whose own suspensions are listed too. */
  readonly domainIds: readonly string[];
  readonly limit: number;
  readonly after: ListCursor | null;
}

const LIST = `
  select state from read_models.destinations
  where suspended_until > $1 and (operator not like '%@%' or split_part(operator, '@', 1) = any($5)) and ($2::timestamptz is null or (since, operator) < ($2, $3::text))
  order by since desc, operator desc
  limit $4`;

/** Suspended providers, newest first. Not recipient domains, which would show whom others write to, nor other senders. */
export const listSuspensions = async (
  db: Database,
  { now, domainIds, limit, after }: ListSuspensions,
): Promise<ListPage<Suspension>> => {
  const values = [now, after?.createdAt ?? null, after?.id ?? null, rowsToAsk(limit), domainIds];
  const { rows } = await db.query<{ state: Destination }>({ name: 'list-suspensions', text: LIST, values });
  return pageOf(
    rows.flatMap(({ state }) => state.suspension ?? []),
    limit,
    ({ since, operator }) => ({ createdAt: since, id: operator }),
  );
};
