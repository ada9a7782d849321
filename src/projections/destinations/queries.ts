import type { Destination, Suspension } from '../../domain/destination/destination.ts';
import type { Database } from '../database.ts';
import { type ListCursor, type ListPage, pageOf, rowsToAsk } from '../page-of.ts';

export interface ListSuspensions {
  /** Those that last longer than this; ISO 8601. */
  readonly now: string;
  readonly limit: number;
  readonly after: ListCursor | null;
}

const LIST = `
  select state from read_models.destinations
  where suspended_until > $1 and operator not like '@%' and ($2::timestamptz is null or (since, operator) < ($2, $3::text))
  order by since desc, operator desc
  limit $4`;

/** Providers that get nothing now, the latest first. Not recipient domains: whom others write to is not for everybody. */
export const listSuspensions = async (
  db: Database,
  { now, limit, after }: ListSuspensions,
): Promise<ListPage<Suspension>> => {
  const values = [now, after?.createdAt ?? null, after?.id ?? null, rowsToAsk(limit)];
  const { rows } = await db.query<{ state: Destination }>({ name: 'list-suspensions', text: LIST, values });
  return pageOf(
    rows.flatMap(({ state }) => state.suspension ?? []),
    limit,
    ({ since, operator }) => ({ createdAt: since, id: operator }),
  );
};
