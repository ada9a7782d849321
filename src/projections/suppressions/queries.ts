import type { Environment } from '../../domain/environment.ts';
import type { SuppressionReason, SuppressionScope } from '../../domain/suppression/events.ts';
import type { ExistingSuppression } from '../../domain/suppression/suppression.ts';
import type { Database } from '../database.ts';
import { type ListCursor, type ListPage, pageOf, rowsToAsk } from '../page-of.ts';

export interface ListSuppressions {
  readonly organizationId: string;
  readonly environment: Environment;
  /** ISO 8601: what has expired by then is not listed. */
  readonly now: string;
  /** With an entry in force of this reason and scope; null: any. */
  readonly reason: SuppressionReason | null;
  readonly scope: SuppressionScope | null;
  /** Of one address; null: all. */
  readonly suppressionId: string | null;
  readonly limit: number;
  readonly after: ListCursor | null;
}

const LIST = `
  select state from read_models.suppressions
  where organization_id = $1 and environment = $2 and reasons <> '{}'
    and exists (
      select from unnest(reasons, scopes, expiries) as e(reason, scope, expires_at)
      where (e.expires_at is null or e.expires_at > $3)
        and ($4::text is null or e.reason = $4) and ($5::text is null or e.scope = $5)
    )
    and ($6::text is null or suppression_id = $6)
    and ($7::timestamptz is null or (added_at, suppression_id) < ($7, $8::text))
  order by added_at desc, suppression_id desc
  limit $9`;

/** Addresses of an organization that are suppressed, latest addition first. */
export const listSuppressions = async (
  db: Database,
  { organizationId, environment, now, reason, scope, suppressionId, limit, after }: ListSuppressions,
): Promise<ListPage<ExistingSuppression>> => {
  const values = [
    ...[organizationId, environment, now, reason, scope, suppressionId],
    ...[after?.createdAt ?? null, after?.id ?? null, rowsToAsk(limit)],
  ];
  const { rows } = await db.query<{ state: ExistingSuppression }>({ name: 'list-suppressions', text: LIST, values });
  return pageOf(
    rows.map(({ state }) => state),
    limit,
    (state) => ({ createdAt: state.addedAt, id: state.suppressionId }),
  );
};
