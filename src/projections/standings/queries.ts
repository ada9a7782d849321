import type { SendingCounts } from '../../domain/standing/sending-counts.ts';
import type { Database } from '../database.ts';

export interface DomainCounts extends SendingCounts {
  readonly domainId: string;
  readonly organizationId: string;
}

interface Row extends Omit<DomainCounts, 'releasedAt'> {
  readonly releasedAt: Date | null;
}

/** Mail whose delivery is not counted any more may bounce late: fewer than none were delivered to. */
const COUNTS = `
  select d.domain_id as "domainId", d.organization_id as "organizationId", d.released_at as "releasedAt",
    greatest(coalesce(sum(c.delivered), 0), 0)::float8 as delivered,
    coalesce(sum(c.bounced), 0)::float8 as bounced, coalesce(sum(c.complained), 0)::float8 as complained`;

const PAGE = `${COUNTS}
  from (select * from read_models.standing_domains where domain_id > $2 order by domain_id limit $3) d
  left join read_models.standing_counts c on c.domain_id = d.domain_id and c.day >= $1
  group by 1, 2, 3
  order by 1`;

const ONE = `${COUNTS}
  from read_models.standing_domains d
  left join read_models.standing_counts c on c.domain_id = d.domain_id and c.day >= $1
  where d.domain_id = $2
  group by 1, 2, 3`;

const countsOf = ({ releasedAt, ...row }: Row): DomainCounts => ({
  ...row,
  releasedAt: releasedAt?.toISOString() ?? null,
});

export interface PageOfCounts {
  /** First day that counts, `YYYY-MM-DD`. */
  readonly from: string;
  /** Domain id that the page comes after; empty: the first page. */
  readonly after: string;
  readonly limit: number;
}

/** What became of the live bulk mail of every domain that ever sent any, in the order of their ids. */
export const pageOfCounts = async (
  db: Database,
  { from, after, limit }: PageOfCounts,
): Promise<readonly DomainCounts[]> => {
  const { rows } = await db.query<Row>({ name: 'page-of-sending-counts', text: PAGE, values: [from, after, limit] });
  return rows.map(countsOf);
};

/** The same of one domain; null: it never sent any. @param by first day that counts, `YYYY-MM-DD`. */
export const countsOfDomain = async (
  db: Database,
  by: { readonly from: string; readonly domainId: string },
): Promise<DomainCounts | null> => {
  const values = [by.from, by.domainId];
  const { rows } = await db.query<Row>({ name: 'sending-counts-of-domain', text: ONE, values });
  return rows.map(countsOf)[0] ?? null;
};
