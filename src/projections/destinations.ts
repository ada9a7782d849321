import { type Destination, destination, type Suspension } from '../domain/destination/suspension.ts';
import { type Database, type ListCursor, type ListPage, pageOf, rowsToAsk } from '../lib/projections/projections.ts';
import { defineStates } from './states.ts';

export const destinationsProjection = defineStates({
  name: 'destinations',
  version: 1,
  aggregate: destination,
  table: 'destinations',
  columns: { operator: 'text', since: 'timestamptz', suspended_until: 'timestamptz' },
  rowOf: ({ suspension }, operator) => ({
    operator,
    since: suspension?.since ?? null,
    suspendedUntil: suspension?.until ?? null,
  }),
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
