import { suppresses } from '../domain/bounce/categories.ts';
import { dayOf } from '../domain/kernel/event.ts';
import type { RecordedEvent } from '../domain/kernel/event-store.ts';
import type { MessageEvent } from '../domain/kernel/events.ts';
import { type ReputationCounts, type ReputationEvent, senderIdIn } from '../domain/reputation/reputation.ts';
import { asRecords, type Database, rowsInto } from '../lib/projections/projections.ts';
import { defineProjection, earlierMessages } from './projection.ts';

interface SenderDay {
  /** A domain, an organization, or an IP address of this service. */
  readonly senderId: string;
  /** UTC. */
  readonly day: string;
  delivered: number;
  bounced: number;
  complained: number;
}

interface Changes {
  /** Domains of live bulk messages, by message id; other messages are not counted. */
  readonly messages: Map<string, string>;
  readonly accepted: { readonly messageId: string; readonly domainId: string }[];
  /** Organizations of domains, and of themselves, by id. */
  readonly senders: Map<string, string>;
  /** To be added, by sender and day. */
  readonly counts: Map<string, SenderDay>;
  /** Release times by id; `counts` came after. */
  readonly released: Map<string, string>;
}

type EventOf<Type extends MessageEvent['type']> = RecordedEvent<Extract<MessageEvent, { readonly type: Type }>>;

const COUNTING: ReadonlySet<string> = new Set<MessageEvent['type']>([
  'RecipientDelivered',
  'RecipientBounced',
  'RecipientComplained',
]);

const isLive = ({ metadata }: RecordedEvent): boolean => metadata.environment === 'live';

const begin = async (db: Database, events: readonly RecordedEvent[]): Promise<Changes> => {
  const ids = earlierMessages(events.filter((event) => isLive(event) && COUNTING.has(event.type)));
  const changes: Changes = {
    messages: new Map(),
    accepted: [],
    senders: new Map(),
    counts: new Map(),
    released: new Map(),
  };
  if (ids.length === 0) return changes;
  const { rows } = await db.query<{ messageId: string; domainId: string }>({
    name: 'reputation-messages',
    text: SELECT_MESSAGES,
    values: [ids],
  });
  for (const { messageId, domainId } of rows) changes.messages.set(messageId, domainId);
  return changes;
};

const accept = (changes: Changes, event: EventOf<'MessageAccepted'>): void => {
  const { messageId, domainId, stream, trial } = event.data;
  if (!isLive(event) || stream !== 'bulk' || trial === true) return;
  changes.messages.set(messageId, domainId);
  changes.accepted.push({ messageId, domainId });
  const { organizationId } = event.metadata;
  for (const senderId of [domainId, organizationId]) changes.senders.set(senderId, organizationId);
};

/** The address of this service that sent the copy; absent if the machine chose it, or for simulated mail. */
const sourceOf = (event: RecordedEvent<MessageEvent>): readonly string[] => {
  const { data } = event;
  const source =
    event.type === 'RecipientComplained' ? event.data.source : 'smtp' in data ? data.smtp?.source : undefined;
  return source === undefined || !isLive(event) ? [] : [source];
};

/**
 * The counters of an event: those of its domain and its organization, unless it concerns no live bulk mail, and that of the
 * address that sent it.
 */
const countedBy = (changes: Changes, event: RecordedEvent<MessageEvent>): readonly SenderDay[] => {
  const { data, metadata } = event;
  const domainId = changes.messages.get(data.messageId);
  const day = dayOf(metadata.occurredAt);
  const senders = domainId === undefined ? [] : [domainId, metadata.organizationId];
  return [...senders, ...sourceOf(event)].map((senderId) => {
    const key = `${senderId} ${day}`;
    const counted = changes.counts.get(key) ?? { senderId, day, delivered: 0, bounced: 0, complained: 0 };
    changes.counts.set(key, counted);
    return counted;
  });
};

const deliver = (changes: Changes, event: EventOf<'RecipientDelivered'>): void => {
  for (const counted of countedBy(changes, event)) counted.delivered += 1;
};

const bounce = (changes: Changes, event: EventOf<'RecipientBounced'>): void => {
  const { late, category, shared } = event.data;
  for (const counted of countedBy(changes, event)) {
    if (late === true) counted.delivered -= 1;
    // A report that others could have sent does not count.
    if (shared !== true && category !== undefined && suppresses(category)) counted.bounced += 1;
  }
};

const complain = (changes: Changes, event: EventOf<'RecipientComplained'>): void => {
  if (event.data.shared === true) return;
  for (const counted of countedBy(changes, event)) counted.complained += 1;
};

const release = (changes: Changes, event: RecordedEvent<ReputationEvent>): void => {
  const senderId = senderIdIn(event);
  const { organizationId, occurredAt } = event.metadata;
  changes.senders.set(senderId, organizationId);
  changes.released.set(senderId, occurredAt);
  for (const [key, counted] of changes.counts) if (counted.senderId === senderId) changes.counts.delete(key);
};

const write = async (db: Database, { accepted, senders, counts, released }: Changes): Promise<void> => {
  await insertMessages(db, accepted);
  if (senders.size > 0) {
    const rows = [...senders].map(([senderId, organizationId]) => ({ senderId, organizationId }));
    await db.query(INSERT_SENDERS, asRecords(rows));
  }
  if (released.size > 0) {
    await db.query(RELEASE, asRecords([...released].map(([senderId, releasedAt]) => ({ senderId, releasedAt }))));
    await db.query(DELETE_COUNTS, [[...released.keys()]]);
  }
  if (counts.size > 0) {
    await db.query({ name: 'add-reputation-counts', text: ADD_COUNTS, values: asRecords([...counts.values()]) });
  }
};

export const reputationProjection = defineProjection<MessageEvent | ReputationEvent, Changes>({
  name: 'reputation',
  version: 2,
  categories: ['message', 'reputation'],
  tables: ['reputation_senders', 'reputation_counts', 'reputation_messages'],
  handlers: {
    MessageAccepted: accept,
    MessageScheduled: 'ignored',
    MessageRescheduled: 'ignored',
    RecipientsHeld: 'ignored',
    AttemptStarted: 'ignored',
    AttemptOutcomeUnknown: 'ignored',
    RecipientDelivered: deliver,
    RecipientDeferred: 'ignored',
    RecipientBounced: bounce,
    RecipientExpired: 'ignored',
    RecipientFailed: 'ignored',
    RecipientSuppressed: 'ignored',
    RecipientCancelled: 'ignored',
    RecipientOpened: 'ignored',
    RecipientClicked: 'ignored',
    RecipientComplained: complain,
    RecipientReportNoted: 'ignored',
    RecipientsResent: 'ignored',
    RecipientUnsubscribed: 'ignored',
    SendingWarned: 'ignored',
    SendingSlowed: 'ignored',
    SendingPaused: 'ignored',
    SendingRecovered: 'ignored',
    SendingReleased: release,
    OrganizationSendingWarned: 'ignored',
    OrganizationSendingSlowed: 'ignored',
    OrganizationSendingPaused: 'ignored',
    OrganizationSendingRecovered: 'ignored',
    OrganizationSendingReleased: release,
    BulkMailPaused: 'ignored',
    BulkMailResumed: 'ignored',
  },
  begin,
  write,
});

const SELECT_MESSAGES = `
  select message_id as "messageId", domain_id as "domainId" from reputation_messages where message_id = any($1)`;

const insertMessages = rowsInto<{ readonly messageId: string; readonly domainId: string }>('reputation_messages', {
  message_id: 'messageId',
  domain_id: 'domainId',
});

const INSERT_SENDERS = `
  insert into reputation_senders (sender_id, organization_id)
  select "senderId", "organizationId" from json_to_recordset($1) as d("senderId" text, "organizationId" text)
  on conflict (sender_id) do nothing`;

const RELEASE = `
  update reputation_senders d set released_at = r."releasedAt"
  from json_to_recordset($1) as r("senderId" text, "releasedAt" timestamptz)
  where d.sender_id = r."senderId"`;

const DELETE_COUNTS = 'delete from reputation_counts where sender_id = any($1)';

const ADD_COUNTS = `
  insert into reputation_counts as s (sender_id, day, delivered, bounced, complained)
  select "senderId", day, delivered, bounced, complained
  from json_to_recordset($1) as c("senderId" text, day date, delivered bigint, bounced bigint, complained bigint)
  on conflict (sender_id, day) do update set delivered = s.delivered + excluded.delivered,
    bounced = s.bounced + excluded.bounced, complained = s.complained + excluded.complained`;

interface SenderCounts extends ReputationCounts {
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
  by: { readonly organizationId: string; readonly from: string; readonly senderId: string },
): Promise<SenderCounts | null> => {
  const values = [by.from, by.senderId];
  const { rows } = await db.query<Row>({ name: 'sending-counts-of-sender', text: ONE, values });
  return rows.map(countsOf)[0] ?? null;
};

export interface SourceCounts extends ReputationCounts {
  /** An IP address of this service. */
  readonly source: string;
}

/** Ids of domains and organizations have an underscore. */
const OF_SOURCES = `
  select sender_id as source, null as "releasedAt", greatest(sum(delivered), 0)::float8 as delivered, sum(bounced)::float8 as bounced,
    sum(complained)::float8 as complained
  from read_models.reputation_counts
  where day >= $1 and strpos(sender_id, '_') = 0
  group by 1
  order by 1`;

/** Counts of live mail by the address of this service that sent it. @param from first day that counts, `YYYY-MM-DD`. */
export const countsOfSources = async (db: Database, from: string): Promise<readonly SourceCounts[]> => {
  const { rows } = await db.query<SourceCounts>({
    name: 'sending-counts-of-sources',
    text: OF_SOURCES,
    values: [from],
  });
  return rows;
};
