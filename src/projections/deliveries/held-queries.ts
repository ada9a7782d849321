import type { Database } from '../database.ts';
import {
  behindIn,
  behindJson,
  COLUMNS,
  type DuePage,
  type DueRow,
  type PlaceInDestination,
  shownDue,
} from './queries.ts';

export interface AskHolders {
  /** Where the last page ended; empty: from the first. */
  readonly after: string;
  readonly limit: number;
}

/** One by one by their index: a million rows of one are not in the way of the next. */
const HOLDERS = `
  with recursive step as (
    (select held_by from read_models.deliveries where held_by > $1 order by held_by limit 1)
    union all
    select (select d.held_by from read_models.deliveries d where d.held_by > step.held_by order by d.held_by limit 1)
    from step where step.held_by is not null
  )
  select held_by as holder from step where held_by is not null limit $2`;

const HELD = `
  with recursive step as (
    (select destination from read_models.deliveries where held_by = $1 and destination > $2
     order by destination limit 1)
    union all
    select (select d.destination from read_models.deliveries d
            where d.held_by = $1 and d.destination > step.destination order by d.destination limit 1)
    from step where step.destination is not null
  ), visited as (select destination from step where destination is not null limit $3)
  select ${COLUMNS}
  from visited join lateral (
    select * from read_models.deliveries w
    where w.held_by = $1 and w.destination = visited.destination
      and (w.due_at, w.message_id) > ${behindIn('$6')}
    order by w.due_at, w.message_id limit $4
  ) d on true
  limit $5`;

/** Domains and organizations that keep mail back, in the order of their ids. */
export const holdersOfMail = async (db: Database, { after, limit }: AskHolders): Promise<readonly string[]> => {
  const query = { name: 'holders-of-mail', text: HOLDERS, values: [after, limit] };
  return (await db.query<{ holder: string }>(query)).rows.map(({ holder }) => holder);
};

export interface AskHeld {
  readonly holder: string;
  /** Destination where the last page ended; empty: from the first. */
  readonly after: string;
  /** Destinations of a page. */
  readonly destinations: number;
  /** Of each destination. */
  readonly limit: number;
  /** Of the page. */
  readonly total: number;
  /** Of these destinations only rows behind such a one. Absent: of none. */
  readonly behind?: readonly PlaceInDestination[];
}

/**
 * What one of them keeps back, whenever it would be due, destination by destination: what is there for one that gets
 * nothing now is not in the way of the next.
 */
export const heldMail = async (
  db: Database,
  { holder, after, destinations, limit, total, behind = [] }: AskHeld,
): Promise<DuePage> => {
  const values = [holder, after, destinations, limit, total, behindJson(behind)];
  const { rows } = await db.query<DueRow>({ name: 'held-mail', text: HELD, values });
  const visited = new Set(rows.map(({ destination }) => destination));
  const isLast = rows.length < total && visited.size < destinations;
  return { due: rows.map(shownDue), next: isLast ? '' : (rows.at(-1)?.destination ?? '') };
};
