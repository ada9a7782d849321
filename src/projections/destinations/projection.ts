import { type Destination, destination } from '../../domain/destination/destination.ts';
import type { DestinationEvent } from '../../domain/events.ts';
import { asRecords } from '../database.ts';
import { type Folded, foldInto, storedStates } from '../folded.ts';
import { defineProjection } from '../projection.ts';

const SELECT = 'select operator as id, state from destinations where operator = any($1)';

const UPSERT = `
  insert into destinations (operator, since, suspended_until, state)
  select operator, since, "suspendedUntil", state
  from json_to_recordset($1) as d(operator text, since timestamptz, "suspendedUntil" timestamptz, state json)
  on conflict (operator) do update set since = excluded.since, suspended_until = excluded.suspended_until,
    state = excluded.state`;

const fold = foldInto(destination);

export const destinationsProjection = defineProjection<DestinationEvent, Folded<Destination>>({
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
