import type { ExistingSendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import type { Database } from '../database.ts';
import { type ListCursor, type ListPage, pageOf, rowsToAsk } from '../page-of.ts';

export interface ListDomains {
  readonly organizationId: string;
  /** The key's own domain for keys that see no other; null: all. */
  readonly domainId: string | null;
  readonly limit: number;
  readonly after: ListCursor | null;
}

const LIST = `
  select state from read_models.domains
  where organization_id = $1 and state->>'status' <> 'deleted' and ($2::text is null or domain_id = $2)
    and ($3::timestamptz is null or (created_at, domain_id) < ($3, $4::text))
  order by created_at desc, domain_id desc
  limit $5`;

/** Sending domains of an organization, newest first. */
export const listDomains = async (
  db: Database,
  { organizationId, domainId, limit, after }: ListDomains,
): Promise<ListPage<ExistingSendingDomain>> => {
  const values = [organizationId, domainId, after?.createdAt ?? null, after?.id ?? null, rowsToAsk(limit)];
  const { rows } = await db.query<{ state: ExistingSendingDomain }>({ name: 'list-domains', text: LIST, values });
  return pageOf(
    rows.map(({ state }) => state),
    limit,
    (domain) => ({ createdAt: domain.createdAt, id: domain.domainId }),
  );
};
