import type { MessageEvent } from '../../domain/events.ts';
import type { RecordedEvent } from '../../domain/ports/event-store.ts';
import { asRecords, type Database } from '../database.ts';
import { earlierMessages, known } from '../messages/earlier-messages.ts';
import { defineProjection } from '../projection.ts';
import { rowsInto } from '../rebuild-tables.ts';
import {
  addLatency,
  type BucketChange,
  type Cohort,
  type CountedRecipient,
  cohortOf,
  countsOf,
  type Outcome,
  rowOf,
  type StatsChanges,
  settle,
} from './cohorts.ts';

const begin = async (db: Database, events: readonly RecordedEvent[]): Promise<StatsChanges> => {
  const ids = earlierMessages(events);
  const changes: StatsChanges = { cohorts: new Map(), accepted: new Set(), changed: new Set(), buckets: new Map() };
  if (ids.length === 0) return changes;
  const { rows } = await db.query<Cohort & { readonly acceptedAt: Date }>({
    name: 'stats-messages',
    text: SELECT_MESSAGES,
    values: [ids],
  });
  for (const row of rows) changes.cohorts.set(row.messageId, { ...row, acceptedAt: row.acceptedAt.toISOString() });
  return changes;
};

/** @param sinceDueMs from acceptance, or from the time the recipient was scheduled for. */
type Count = (counts: BucketChange, recipient: CountedRecipient, sinceDueMs: number) => void;

interface Concerning {
  readonly data: { readonly messageId: string } & (
    | { readonly recipientId: string }
    | { readonly recipientIds: readonly string[] }
  );
  readonly metadata: { readonly occurredAt: string };
}

/** Handler that counts something for each recipient an event concerns. */
const each =
  (count: Count) =>
  (changes: StatsChanges, { data, metadata }: Concerning): void => {
    const cohort = changes.cohorts.get(data.messageId);
    if (cohort === undefined) return; // a trial is not counted
    const ids = 'recipientIds' in data ? data.recipientIds : [data.recipientId];
    for (const recipient of cohort.recipients.filter(({ id }) => ids.includes(id))) {
      const dueAt = recipient.scheduledAt ?? cohort.acceptedAt;
      const sinceDueMs = Math.max(0, Date.parse(metadata.occurredAt) - Date.parse(dueAt));
      count(countsOf(changes, cohort, recipient.domain), recipient, sinceDueMs);
    }
    changes.changed.add(data.messageId);
  };

const accept = (
  changes: StatsChanges,
  event: RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>,
): void => {
  if (event.data.trial === true) return;
  const cohort = cohortOf(event);
  changes.cohorts.set(cohort.messageId, cohort);
  changes.accepted.add(cohort.messageId);
  for (const { domain } of cohort.recipients) countsOf(changes, cohort, domain).accepted += 1;
};

/** The wait that the sender asked for is no latency. */
const scheduled = (
  changes: StatsChanges,
  { data }: RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageScheduled' | 'MessageRescheduled' }>>,
): void => {
  const ids = new Set(data.recipientIds);
  for (const recipient of known(changes.cohorts, data.messageId).recipients)
    if (ids.has(recipient.id)) recipient.scheduledAt = data.scheduledAt;
  changes.changed.add(data.messageId);
};

const ended = (outcome: Outcome) => each((counts, recipient) => settle(counts, recipient, outcome));

const deferred = each((counts, recipient) => {
  if (!recipient.deferred) counts.deferred += 1;
  recipient.deferred = true;
});

const delivered = each((counts, recipient, sinceDueMs) => {
  settle(counts, recipient, 'delivered');
  addLatency(counts, sinceDueMs);
});

const complained = each((counts, recipient) => {
  if (!recipient.complained) counts.complained += 1;
  recipient.complained = true;
});

const unsubscribed = each((counts, recipient) => {
  if (!recipient.unsubscribed) counts.unsubscribed += 1;
  recipient.unsubscribed = true;
});

type Engaged = RecordedEvent<Extract<MessageEvent, { readonly type: 'RecipientOpened' | 'RecipientClicked' }>>;

const KINDS = {
  RecipientOpened: { people: 'opened', machines: 'machine_opened', times: 'opens' },
  RecipientClicked: { people: 'clicked', machines: 'machine_clicked', times: 'clicks' },
} as const;

/** People and machines apart: each recipient once, and how often people did it. */
const engaged = (changes: StatsChanges, event: Engaged): void => {
  const { people, machines, times } = KINDS[event.type];
  const { machine, count } = event.data;
  const metric = machine === undefined ? people : machines;
  each((counts, recipient) => {
    if (machine === undefined) counts[times] += count;
    if (recipient.engaged?.includes(metric) === true) return;
    counts[metric] += 1;
    recipient.engaged = [...(recipient.engaged ?? []), metric];
  })(changes, event);
};

const write = async (db: Database, { cohorts, accepted, changed, buckets }: StatsChanges): Promise<void> => {
  const rowsOf = (ids: ReadonlySet<string>) => [...ids].map((id) => known(cohorts, id));
  const earlier = changed.difference(accepted);
  await insertMessages(db, rowsOf(accepted));
  if (earlier.size > 0) {
    await db.query({ name: 'update-stats-messages', text: UPDATE_MESSAGES, values: asRecords(rowsOf(earlier)) });
  }
  if (buckets.size > 0) {
    await db.query({ name: 'add-stats', text: ADD_COUNTS, values: asRecords([...buckets.values()].map(rowOf)) });
  }
};

export const statsProjection = defineProjection<MessageEvent, StatsChanges>({
  name: 'stats',
  version: 4,
  categories: ['message'],
  tables: ['stats_buckets', 'stats_messages'],
  handlers: {
    MessageAccepted: accept,
    MessageScheduled: scheduled,
    MessageRescheduled: scheduled,
    RecipientsHeld: 'ignored',
    AttemptStarted: 'ignored',
    AttemptOutcomeUnknown: deferred,
    RecipientDelivered: delivered,
    RecipientDeferred: deferred,
    RecipientBounced: ended('bounced'),
    RecipientExpired: ended('expired'),
    RecipientFailed: ended('failed'),
    RecipientSuppressed: ended('suppressed'),
    RecipientCancelled: ended('cancelled'),
    RecipientOpened: engaged,
    RecipientClicked: engaged,
    RecipientComplained: complained,
    RecipientUnsubscribed: unsubscribed,
  },
  begin,
  write,
});

export const SELECT_MESSAGES = `
  select message_id as "messageId", organization_id as "organizationId", environment, accepted_at as "acceptedAt",
    domain_id as "domainId", stream, key_id as "keyId", template_id as "templateId", recipients
  from stats_messages where message_id = any($1)`;

export const insertMessages = rowsInto<Cohort>('stats_messages', {
  message_id: 'messageId',
  organization_id: 'organizationId',
  environment: 'environment',
  accepted_at: 'acceptedAt',
  domain_id: 'domainId',
  stream: 'stream',
  key_id: 'keyId',
  template_id: 'templateId',
  recipients: 'recipients',
});

export const UPDATE_MESSAGES = `
  update stats_messages m set recipients = u.recipients
  from json_to_recordset($1) as u("messageId" text, recipients json)
  where m.message_id = u."messageId"`;

/** Histograms are added bin by bin. */
export const ADD_COUNTS = `
  insert into stats_buckets as s (organization_id, environment, bucket, domain_id, stream, key_id, template_id,
    recipient_domain, accepted, delivered, deferred, bounced, failed, expired, suppressed, cancelled, opened, opens, clicked, clicks, machine_opened,
    machine_clicked, complained, unsubscribed, latency_bins, latency_counts)
  select "organizationId", environment, bucket, "domainId", stream, "keyId", "templateId", "recipientDomain",
    accepted, delivered, deferred, bounced, failed, expired, suppressed, cancelled, opened, opens, clicked, clicks, machine_opened,
    machine_clicked, complained, unsubscribed, "latencyBins", "latencyCounts"
  from json_to_recordset($1) as c("organizationId" text, environment text, bucket timestamptz, "domainId" text,
    stream text, "keyId" text, "templateId" text, "recipientDomain" text, accepted bigint, delivered bigint, deferred bigint,
    bounced bigint, failed bigint, expired bigint, suppressed bigint, cancelled bigint, opened bigint, opens bigint,
    clicked bigint, clicks bigint, machine_opened bigint, machine_clicked bigint, complained bigint,
    unsubscribed bigint, "latencyBins" smallint[], "latencyCounts" bigint[])
  on conflict (organization_id, environment, bucket, domain_id, stream, key_id, template_id, recipient_domain) do update set
    accepted = s.accepted + excluded.accepted, delivered = s.delivered + excluded.delivered,
    deferred = s.deferred + excluded.deferred, bounced = s.bounced + excluded.bounced,
    failed = s.failed + excluded.failed, expired = s.expired + excluded.expired,
    suppressed = s.suppressed + excluded.suppressed, cancelled = s.cancelled + excluded.cancelled,
    opened = s.opened + excluded.opened, opens = s.opens + excluded.opens,
    clicked = s.clicked + excluded.clicked, clicks = s.clicks + excluded.clicks,
    machine_opened = s.machine_opened + excluded.machine_opened,
    machine_clicked = s.machine_clicked + excluded.machine_clicked,
    complained = s.complained + excluded.complained, unsubscribed = s.unsubscribed + excluded.unsubscribed,
    (latency_bins, latency_counts) = (
      select coalesce(array_agg(bin order by bin), '{}'), coalesce(array_agg(count order by bin), '{}')
      from (
        select bin, sum(count)::bigint as count
        from (
          select * from unnest(s.latency_bins, s.latency_counts)
          union all
          select * from unnest(excluded.latency_bins, excluded.latency_counts)
        ) both_of(bin, count)
        group by bin
      ) added
    )`;
