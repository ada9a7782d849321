import { rowsInto } from '../copy-rows.ts';
import type { Cohort } from './cohorts.ts';

export const SELECT_MESSAGES = `
  select message_id as "messageId", organization_id as "organizationId", environment, accepted_at as "acceptedAt",
    domain_id as "domainId", stream, key_id as "keyId", recipients
  from stats_messages where message_id = any($1)`;

export const insertMessages = rowsInto<Cohort>('stats_messages', {
  message_id: 'messageId',
  organization_id: 'organizationId',
  environment: 'environment',
  accepted_at: 'acceptedAt',
  domain_id: 'domainId',
  stream: 'stream',
  key_id: 'keyId',
  recipients: 'recipients',
});

export const UPDATE_MESSAGES = `
  update stats_messages m set recipients = u.recipients
  from json_to_recordset($1) as u("messageId" text, recipients json)
  where m.message_id = u."messageId"`;

/** Histograms are added bin by bin. */
export const ADD_COUNTS = `
  insert into stats_buckets as s (organization_id, environment, bucket, domain_id, stream, key_id, recipient_domain,
    accepted, delivered, deferred, bounced, failed, expired, suppressed, cancelled, complained, unsubscribed,
    latency_bins, latency_counts)
  select "organizationId", environment, bucket, "domainId", stream, "keyId", "recipientDomain",
    accepted, delivered, deferred, bounced, failed, expired, suppressed, cancelled, complained, unsubscribed,
    "latencyBins", "latencyCounts"
  from json_to_recordset($1) as c("organizationId" text, environment text, bucket timestamptz, "domainId" text,
    stream text, "keyId" text, "recipientDomain" text, accepted bigint, delivered bigint, deferred bigint,
    bounced bigint, failed bigint, expired bigint, suppressed bigint, cancelled bigint, complained bigint,
    unsubscribed bigint, "latencyBins" smallint[], "latencyCounts" bigint[])
  on conflict (organization_id, environment, bucket, domain_id, stream, key_id, recipient_domain) do update set
    accepted = s.accepted + excluded.accepted, delivered = s.delivered + excluded.delivered,
    deferred = s.deferred + excluded.deferred, bounced = s.bounced + excluded.bounced,
    failed = s.failed + excluded.failed, expired = s.expired + excluded.expired,
    suppressed = s.suppressed + excluded.suppressed, cancelled = s.cancelled + excluded.cancelled,
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
