import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { asRecords, type Database, rowsInto } from '../../lib/projections/projections.ts';
import { defineProjection, earlierMessages, known } from '../projection.ts';
import {
  type Cohort,
  type CountedRecipient,
  type Counter,
  cohortOf,
  counterOf,
  insertTags,
  type Outcome,
  readTags,
  rowsOf,
  type StatsChanges,
  settle,
} from './cohorts.ts';
import { STATS_METRICS } from './metrics.ts';

const begin = async (db: Database, events: readonly RecordedEvent[]): Promise<StatsChanges> => {
  const ids = earlierMessages(events);
  const tags = await readTags(db, events);
  const changes = { cohorts: new Map(), accepted: new Set<string>(), changed: new Set<string>(), groups: new Map() };
  if (ids.length === 0) return { ...changes, tags };
  const { rows } = await db.query<Cohort & { readonly acceptedAt: Date }>({
    name: 'stats-messages',
    text: SELECT_MESSAGES,
    values: [ids],
  });
  for (const row of rows) changes.cohorts.set(row.messageId, { ...row, acceptedAt: row.acceptedAt.toISOString() });
  return { ...changes, tags };
};

type Count = (counter: Counter, recipient: CountedRecipient, time: string, dueAt: string) => void;

interface RecipientEvent {
  readonly data: { readonly messageId: string } & (
    | { readonly recipientId: string }
    | { readonly recipientIds: readonly string[] }
  );
  readonly metadata: { readonly occurredAt: string };
}

/** Counts something for each recipient an event concerns. */
const countEach = (changes: StatsChanges, { data, metadata }: RecipientEvent, count: Count): void => {
  const cohort = changes.cohorts.get(data.messageId);
  if (cohort === undefined) return; // a trial is not counted
  const ids = 'recipientIds' in data ? data.recipientIds : [data.recipientId];
  for (const recipient of cohort.recipients.filter(({ id }) => ids.includes(id))) {
    const counter = counterOf(changes, cohort, recipient.domain);
    count(counter, recipient, metadata.occurredAt, recipient.scheduledAt ?? cohort.acceptedAt);
  }
  changes.changed.add(data.messageId);
};

const each =
  (count: Count) =>
  (changes: StatsChanges, event: RecipientEvent): void =>
    countEach(changes, event, count);

const accept = (
  changes: StatsChanges,
  event: RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>,
): void => {
  if (event.data.trial === true) return;
  const cohort = cohortOf(changes, event);
  changes.cohorts.set(cohort.messageId, cohort);
  changes.accepted.add(cohort.messageId);
  for (const { domain } of cohort.recipients) counterOf(changes, cohort, domain).count('accepted', cohort.acceptedAt);
};

/** The wait that the sender asked for is no latency. */
const scheduled = (
  changes: StatsChanges,
  event: RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageScheduled' | 'MessageRescheduled' }>>,
): void =>
  countEach(changes, event, (_, recipient) => {
    recipient.scheduledAt = event.data.scheduledAt;
  });

const ended = (outcome: Outcome) => each((counter, recipient, time) => settle(counter, recipient, { outcome, time }));

const bounced = (
  changes: StatsChanges,
  event: RecordedEvent<Extract<MessageEvent, { readonly type: 'RecipientBounced' }>>,
): void => {
  const bounceClass = event.data.category ?? 'unknown';
  countEach(changes, event, (counter, recipient, time) =>
    settle(counter, recipient, { outcome: 'bounced', time, bounceClass }),
  );
};

const delivered = each((counter, recipient, time, dueAt) => {
  settle(counter, recipient, { outcome: 'delivered', time });
  counter.latency(Math.max(0, Date.parse(time) - Date.parse(dueAt)), time);
});

const once = (mark: 'deferred' | 'complained' | 'unsubscribed') =>
  each(({ count }, recipient, time) => {
    if (!recipient[mark]) count(mark, time);
    recipient[mark] = true;
  });

type EngagementEvent = RecordedEvent<Extract<MessageEvent, { readonly type: 'RecipientOpened' | 'RecipientClicked' }>>;

const KINDS = {
  RecipientOpened: { people: 'opened', machines: 'machine_opened', times: 'opens' },
  RecipientClicked: { people: 'clicked', machines: 'machine_clicked', times: 'clicks' },
} as const;

/** People and machines apart: each recipient once, and how often people did it. */
const engaged = (changes: StatsChanges, event: EngagementEvent): void => {
  const { people, machines, times } = KINDS[event.type];
  const { machine, count: often } = event.data;
  const metric = machine === undefined ? people : machines;
  countEach(changes, event, ({ count }, recipient, time) => {
    if (machine === undefined) count(times, time, often);
    if (recipient.engaged?.includes(metric) === true) return;
    count(metric, time);
    recipient.engaged = [...(recipient.engaged ?? []), metric];
  });
};

const write = async (db: Database, { cohorts, accepted, changed, tags, groups }: StatsChanges): Promise<void> => {
  const cohortsOf = (ids: ReadonlySet<string>) => [...ids].map((id) => known(cohorts, id));
  const earlier = changed.difference(accepted);
  await insertMessages(db, cohortsOf(accepted));
  await insertTags(db, tags.added);
  if (earlier.size > 0) {
    await db.query({ name: 'update-stats-messages', text: UPDATE_MESSAGES, values: asRecords(cohortsOf(earlier)) });
  }
  const counts = rowsOf(groups);
  if (counts.length > 0) await db.query({ name: 'add-stats', text: ADD_COUNTS, values: asRecords(counts) });
};

export const statsProjection = defineProjection<MessageEvent, StatsChanges>({
  name: 'stats',
  version: 6,
  categories: ['message'],
  tables: ['stats_buckets', 'stats_messages', 'stats_tags'],
  handlers: {
    MessageAccepted: accept,
    MessageScheduled: scheduled,
    MessageRescheduled: scheduled,
    RecipientsHeld: 'ignored',
    AttemptStarted: 'ignored',
    AttemptOutcomeUnknown: once('deferred'),
    RecipientDelivered: delivered,
    RecipientDeferred: once('deferred'),
    RecipientBounced: bounced,
    RecipientExpired: ended('expired'),
    RecipientFailed: ended('failed'),
    RecipientSuppressed: ended('suppressed'),
    RecipientCancelled: ended('cancelled'),
    RecipientOpened: engaged,
    RecipientClicked: engaged,
    RecipientComplained: once('complained'),
    RecipientReportNoted: 'ignored',
    RecipientsResent: 'ignored',
    RecipientUnsubscribed: once('unsubscribed'),
  },
  begin,
  write,
});

const SELECT_MESSAGES = `
  select message_id as "messageId", organization_id as "organizationId", environment, accepted_at as "acceptedAt",
    domain_id as "domainId", stream, key_id as "keyId", template_id as "templateId", template_version as "templateVersion", tags, recipients
  from stats_messages where message_id = any($1)`;

const insertMessages = rowsInto<Cohort>('stats_messages', {
  message_id: 'messageId',
  organization_id: 'organizationId',
  environment: 'environment',
  accepted_at: 'acceptedAt',
  domain_id: 'domainId',
  stream: 'stream',
  key_id: 'keyId',
  template_id: 'templateId',
  template_version: 'templateVersion',
  tags: 'tags',
  recipients: 'recipients',
});

const UPDATE_MESSAGES = `
  update stats_messages m set recipients = u.recipients
  from json_to_recordset($1) as u("messageId" text, recipients json)
  where m.message_id = u."messageId"`;

const METRICS = STATS_METRICS.join(', ');

/** Histograms are added bin by bin. */
const ADD_COUNTS = `
  insert into stats_buckets as s (organization_id, environment, split, bucket, moved, domain_id, stream, key_id,
    template_id, template_version, bounce_class, split_value, ${METRICS}, latency_bins, latency_counts)
  select "organizationId", environment, split, bucket, moved, "domainId", stream, "keyId",
    "templateId", "templateVersion", "bounceClass", "splitValue", ${METRICS}, "latencyBins", "latencyCounts"
  from json_to_recordset($1) as c("organizationId" text, environment text, split text, bucket timestamptz, moved boolean,
    "domainId" text, stream text, "keyId" text, "templateId" text, "templateVersion" integer, "bounceClass" text,
    "splitValue" text, ${STATS_METRICS.map((metric) => `${metric} integer`).join(', ')},
    "latencyBins" smallint[], "latencyCounts" integer[])
  on conflict (organization_id, environment, split, bucket, moved, domain_id, stream, key_id, template_id,
    template_version, bounce_class, split_value) do update set
    ${STATS_METRICS.map((metric) => `${metric} = s.${metric} + excluded.${metric}`).join(', ')},
    (latency_bins, latency_counts) = (
      select coalesce(array_agg(bin order by bin), '{}'), coalesce(array_agg(count order by bin), '{}')
      from (
        select bin, sum(count)::integer as count
        from (
          select * from unnest(s.latency_bins, s.latency_counts)
          union all
          select * from unnest(excluded.latency_bins, excluded.latency_counts)
        ) both_of(bin, count)
        group by bin
      ) added
    )`;
