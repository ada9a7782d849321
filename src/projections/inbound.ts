import { type ExistingInbound, inbound } from '../domain/inbound/inbound.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import { type Database, type ListCursor, type ListPage, pageOf, rowsToAsk } from '../lib/projections/projections.ts';
import { defineStates } from './states.ts';

export const inboundProjection = defineStates({
  name: 'inbound',
  version: 1,
  aggregate: inbound,
  table: 'inbound_messages',
  columns: {
    inbound_id: 'text',
    organization_id: 'text',
    environment: 'text',
    domain_id: 'text',
    created_at: 'timestamptz',
    content_id: 'uuid',
    to_digest: 'text',
    from_digests: 'text[]',
    forward_due_at: 'timestamptz',
  },
  rowOf: (state) => ({ ...state, forwardDueAt: state.forward?.dueAt ?? null }),
});

export interface ListInbound {
  readonly organizationId: string;
  readonly environment: Environment;
  readonly limit: number;
  readonly after: ListCursor | null;
  /** Null: all domains. */
  readonly domainId: string | null;
  /** Keyed digest of a sender, from the envelope or the `From` field; null: all. */
  readonly fromDigest: string | null;
  /** Keyed digest of the recipient; null: all. */
  readonly toDigest: string | null;
  /** Digests of words that the subject must have all (`search-words.ts`); empty: all. */
  readonly words: readonly string[];
  /** Message that they answer; null: all. */
  readonly inReplyToMessageId: string | null;
  /** Received at this time or later (ISO 8601); null: from the first. */
  readonly since: string | null;
  /** Received before this time; null: up to the last. */
  readonly until: string | null;
}

const LIST = `
  select m.inbound_id as id, m.state from read_models.inbound_messages m
  where m.organization_id = $1 and m.environment = $2
    and ($3::timestamptz is null or (m.created_at, m.inbound_id) < ($3, $4::text))
    and ($6::text is null or m.domain_id = $6)
    and ($7::text is null or m.from_digests @> array[$7::text])
    and ($8::text is null or m.to_digest = $8)
    and (cardinality($9::bigint[]) = 0 or exists (
      select from vault.contents c where c.id = m.content_id and c.subject_words @> $9::bigint[]))
    and ($10::timestamptz is null or m.created_at >= $10)
    and ($11::timestamptz is null or m.created_at < $11)
    and ($12::text is null or m.state->>'inReplyToMessageId' = $12)
  order by m.created_at desc, m.inbound_id desc
  limit $5`;

/** Inbound messages of an organization, newest first. */
export const listInbound = async (db: Database, by: ListInbound): Promise<ListPage<ExistingInbound>> => {
  const { organizationId, environment, limit, after, domainId, fromDigest, toDigest, words, since, until } = by;
  const { rows } = await db.query<{ id: string; state: ExistingInbound }>({
    name: 'list-inbound',
    text: LIST,
    values: [
      ...[organizationId, environment, after?.createdAt ?? null, after?.id ?? null, rowsToAsk(limit)],
      ...[domainId, fromDigest, toDigest, words, since, until, by.inReplyToMessageId],
    ],
  });
  const page = pageOf(rows, limit, ({ id, state }) => ({ createdAt: state.createdAt, id }));
  return { ...page, items: page.items.map(({ state }) => state) };
};

export interface InboundOfPerson {
  readonly organizationId: string;
  /** Keyed digest of the address. */
  readonly digest: string;
  /** Id of the last one of the page before; empty: from the start. */
  readonly after: string;
}

/** Messages read at once: each erasure reads their streams one by one. */
const PERSON_PAGE = 100;

const OF_PERSON = `
  select inbound_id as id from read_models.inbound_messages
  where organization_id = $1 and inbound_id > $3 and (to_digest = $2 or from_digests @> array[$2::text])
  order by inbound_id
  limit ${PERSON_PAGE}`;

/** Ids of messages from or to an address, in both environments. */
export const inboundOfPerson = async (
  db: Database,
  { organizationId, digest, after }: InboundOfPerson,
): Promise<readonly string[]> =>
  (
    await db.query<{ id: string }>({
      name: 'inbound-of-person',
      text: OF_PERSON,
      values: [organizationId, digest, after],
    })
  ).rows.map(({ id }) => id);

/** Forwards looked for at once, by age. More: memory for their ids. Fewer: more queries. */
const DUE_PAGE = 200;

const DUE = `
  select inbound_id as id from read_models.inbound_messages
  where forward_due_at <= $1
  order by forward_due_at
  limit ${DUE_PAGE}`;

/** Ids of messages that are due to be forwarded. @param now ISO 8601. */
export const dueForwards = async (db: Database, now: string): Promise<readonly string[]> =>
  (await db.query<{ id: string }>({ name: 'due-forwards', text: DUE, values: [now] })).rows.map(({ id }) => id);
