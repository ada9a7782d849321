import type { ReputationCounts } from '../../domain/reputation/reputation.ts';
import type { Database } from '../database.ts';

export interface SenderCounts extends ReputationCounts {
  /** A domain, or the organization itself: all of its domains together. */
  readonly senderId: string;
  readonly organizationId: string;
}

interface Row extends Omit<SenderCounts, 'releasedAt'> {
  readonly releasedAt: Date | null;
}

/** A late bounce can outlive its delivery's day, so the sum may be negative. */
const COUNTS = `
  select s.sender_id as "senderId", s.organization_id as "organizationId", s.released_at as "releasedAt",
    greatest(coalesce(sum(c.delivered), 0), 0)::float8 as delivered,
    coalesce(sum(c.bounced), 0)::float8 as bounced, coalesce(sum(c.complained), 0)::float8 as complained`;

/** An organization with one domain is left out: it would repeat its domain. */
const PAGE = `${COUNTS}
  from (
    select * from read_models.reputation_senders o
    where o.sender_id > $2 and (o.sender_id <> o.organization_id or exists (
      select from read_models.reputation_senders d
      where d.organization_id = o.organization_id and d.sender_id <> d.organization_id offset 1))
    order by o.sender_id limit $3
  ) s
  left join read_models.reputation_counts c on c.sender_id = s.sender_id and c.day >= $1
  group by 1, 2, 3
  order by 1`;

const ONE = `${COUNTS}
  from read_models.reputation_senders s
  left join read_models.reputation_counts c on c.sender_id = s.sender_id and c.day >= $1
  where s.sender_id = $2
  group by 1, 2, 3`;

const countsOf = ({ releasedAt, ...row }: Row): SenderCounts => ({
  ...row,
  releasedAt: releasedAt?.toISOString() ?? null,
});

export interface PageOfCounts {
  /** First day that counts, `YYYY-MM-DD`. */
  readonly from: string;
  /** Sender that the page comes after; empty: the first page. */
  readonly after: string;
  readonly limit: number;
}

/** Counts of live bulk mail by domain, and by organization with several domains, in the order of their ids. */
export const pageOfCounts = async (
  db: Database,
  { from, after, limit }: PageOfCounts,
): Promise<readonly SenderCounts[]> => {
  const { rows } = await db.query<Row>({ name: 'page-of-sending-counts', text: PAGE, values: [from, after, limit] });
  return rows.map(countsOf);
};

/** The same for one sender; null: it never sent any. @param by first day that counts, `YYYY-MM-DD`. */
export const countsOfSender = async (
  db: Database,
  by: { readonly from: string; readonly senderId: string },
): Promise<SenderCounts | null> => {
  const values = [by.from, by.senderId];
  const { rows } = await db.query<Row>({ name: 'sending-counts-of-sender', text: ONE, values });
  return rows.map(countsOf)[0] ?? null;
};
