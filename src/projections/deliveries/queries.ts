import type { Environment } from '../../domain/environment.ts';
import type { Database } from '../database.ts';

/** Recipients of a message in one domain who wait for an attempt, or for the end of one that was lost. */
export interface DueDelivery {
  readonly messageId: string;
  /** A-labels. */
  readonly destination: string;
  readonly environment: Environment;
  /** ISO 8601. */
  readonly dueAt: string;
  /** When they expire; ISO 8601. */
  readonly expiresAt: string;
}

export interface AskDue {
  readonly bulk: boolean;
  /** ISO 8601. */
  readonly before: string;
  readonly limit: number;
}

export const COLUMNS = 'd.message_id, d.destination, d.environment, d.due_at, d.expires_at';

const DUE = `
  select ${COLUMNS} from read_models.deliveries d
  where d.bulk = $1 and d.due_at <= $2 order by d.due_at, d.message_id limit $3`;

/**
 * Destinations one by one by their index (a loose scan: two probes a destination, 20 µs measured, however many rows each
 * has), so that a million rows which wait for one of them are not in the way of the next.
 */
const DUE_BY_DESTINATION = `
  with recursive step as (
    (select destination from read_models.deliveries where destination > $1 order by destination limit 1)
    union all
    select (select d.destination from read_models.deliveries d
            where d.destination > step.destination order by d.destination limit 1)
    from step where step.destination is not null
  ), visited as (select destination from step where destination is not null limit $2)
  select visited.destination as visited, ${COLUMNS}
  from visited
  left join unnest($6::text[]) as passed_over(destination) on passed_over.destination = visited.destination
  left join lateral (
    select * from read_models.deliveries w
    where w.destination = visited.destination and w.bulk = $3 and w.due_at <= $4 and passed_over.destination is null
    order by w.due_at limit $5
  ) d on true`;

export interface DueRow {
  readonly message_id: string;
  readonly destination: string;
  readonly environment: Environment;
  readonly due_at: Date;
  readonly expires_at: Date;
}

export const shownDue = ({ message_id, destination, environment, due_at, expires_at }: DueRow): DueDelivery => ({
  ...{ messageId: message_id, destination, environment },
  ...{ dueAt: due_at.toISOString(), expiresAt: expires_at.toISOString() },
});

/** What is due at or before this time and in nobody's hands, longest overdue first. */
export const dueDeliveries = async (db: Database, { bulk, before, limit }: AskDue): Promise<readonly DueDelivery[]> => {
  const { rows } = await db.query<DueRow>({ name: 'due-deliveries', text: DUE, values: [bulk, before, limit] });
  return rows.map(shownDue);
};

export interface AskDueByDestination extends AskDue {
  /** Where the last page ended; empty: from the first destination. */
  readonly after: string;
  /** Destinations of a page. */
  readonly destinations: number;
  /** Destinations of which nothing is looked for. */
  readonly without: readonly string[];
}

export interface DuePage {
  readonly due: readonly DueDelivery[];
  /** For the next page; empty: this was the last. */
  readonly next: string;
}

/** The same for each destination in turn. @param ask `limit` is of each destination. */
export const dueByDestination = async (
  db: Database,
  { bulk, before, limit, after, destinations, without }: AskDueByDestination,
): Promise<DuePage> => {
  const { rows } = await db.query<DueRow & { readonly visited: string }>({
    ...{ name: 'due-by-destination', text: DUE_BY_DESTINATION },
    values: [after, destinations, bulk, before, limit, without],
  });
  const visited = new Set(rows.map((row) => row.visited));
  return {
    due: rows.filter(({ message_id }) => message_id !== null).map(shownDue),
    next: visited.size < destinations ? '' : (rows.at(-1)?.visited ?? ''),
  };
};
