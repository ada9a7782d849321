-- What an organization's analysts read with their own programs (docs/analysts.md). Version 1: columns are only added.
--
-- A view reads its tables with the rights of its owner, so analysts need none on the tables. Each view shows the rows of
-- the organization that `vault.analysts` names for the session's login, which no `set` changes, and a login that is not
-- there sees nothing. `security_barrier` keeps functions of the reader from seeing a row before that condition has.
--
-- Not here: addresses, subjects, texts of tags, contents, keyed digests, secrets, networks of clients. `tag_id` is the first part of
-- a tag's keyed digest: enough to group by, and nothing to find a tag by without the organization's secret.
create schema analytics;

create view analytics.messages with (security_barrier) as
select message_id, environment, domain_id, key_id as api_key_id, internet_message_id, stream, status,
  partial as is_partial, size_bytes, json_array_length(recipients) as recipient_count, created_at, updated_at,
  scheduled_at, expires_at
from read_models.messages
where organization_id = (select organization_id from vault.analysts where role = session_user);

create view analytics.recipients with (security_barrier) as
select r.id as recipient_id, m.message_id, m.environment, m.domain_id, m.key_id as api_key_id, m.stream, r.kind,
  r.domain as recipient_domain, r.status, coalesce(r.opened, false) as opened, coalesce(r.clicked, false) as clicked,
  coalesce(r.complained, false) as complained, coalesce(r.unsubscribed, false) as unsubscribed, m.created_at
from read_models.messages m cross join lateral json_to_recordset(m.recipients) as r(id text, kind text, domain text,
  status text, opened boolean, clicked boolean, complained boolean, unsubscribed boolean)
where m.organization_id = (select organization_id from vault.analysts where role = session_user);

create view analytics.events with (security_barrier) as
select event_id, position, item, environment, type, occurred_at, subject_id,
  case when type like 'message.%' then subject_id end as message_id, recipient_id, domain_id, sequence,
  (facts->>'attempt')::integer as attempt,
  (facts->'smtp'->>'code')::integer as smtp_code,
  facts->'smtp'->>'enhanced' as smtp_enhanced,
  facts->'smtp'->>'mx' as smtp_mx,
  facts->'smtp'->>'tls' as smtp_tls,
  facts->>'category' as category,
  facts->>'reason' as reason,
  (facts->>'late')::boolean is true as is_late,
  (facts->>'nextAttemptAt')::timestamptz as next_attempt_at,
  (facts->>'scheduledAt')::timestamptz as scheduled_at,
  (facts->>'count')::integer as count,
  (facts->>'first')::boolean is true as is_first,
  facts->>'machine' as machine,
  facts->>'client' as client,
  facts->>'network' as network,
  facts->>'topicId' as topic_id
from read_models.customer_events
where organization_id = (select organization_id from vault.analysts where role = session_user);

create view analytics.stats with (security_barrier) as
select bucket, environment, domain_id, stream, key_id as api_key_id, nullif(template_id, '') as template_id,
  nullif(template_version, 0) as template_version, split_value as recipient_domain,
  nullif(bounce_class, '') as bounce_class, accepted, delivered, deferred, bounced, failed, expired, suppressed, cancelled, complained,
  unsubscribed, opened, opens, clicked, clicks, machine_opened, machine_clicked, latency_bins, latency_counts
from read_models.stats_buckets
where split = 'recipient_domain' and not moved
  and organization_id = (select organization_id from vault.analysts where role = session_user);

create view analytics.tags with (security_barrier) as
select bucket, environment, domain_id, stream, key_id as api_key_id, nullif(template_id, '') as template_id,
  nullif(template_version, 0) as template_version, left(split_value, 16) as tag_id,
  nullif(bounce_class, '') as bounce_class, accepted, delivered, deferred, bounced, failed, expired, suppressed, cancelled, complained,
  unsubscribed, opened, opens, clicked, clicks, machine_opened, machine_clicked, latency_bins, latency_counts
from read_models.stats_buckets
where split = 'tag' and not moved
  and organization_id = (select organization_id from vault.analysts where role = session_user);

-- Rates are those of the API (src/domain/message/rates.ts): a test compares them.
create view analytics.daily with (security_barrier) as
select (bucket at time zone 'UTC')::date as day, environment, domain_id, stream,
  sum(accepted) as accepted, sum(delivered) as delivered, sum(deferred) as deferred, sum(bounced) as bounced,
  sum(failed) as failed, sum(expired) as expired, sum(suppressed) as suppressed, sum(cancelled) as cancelled,
  sum(complained) as complained, sum(unsubscribed) as unsubscribed, sum(opened) as opened, sum(clicked) as clicked,
  (round(sum(delivered)::numeric / nullif(sum(accepted), 0), 6))::float8 as delivered_rate,
  (round(sum(deferred)::numeric / nullif(sum(accepted), 0), 6))::float8 as deferred_rate,
  (round(sum(bounced)::numeric / nullif(sum(accepted), 0), 6))::float8 as bounced_rate,
  (round(sum(opened)::numeric / nullif(sum(delivered), 0), 6))::float8 as opened_rate,
  (round(sum(clicked)::numeric / nullif(sum(delivered), 0), 6))::float8 as clicked_rate,
  (round(sum(complained)::numeric / nullif(sum(delivered), 0), 6))::float8 as complained_rate,
  (round(sum(unsubscribed)::numeric / nullif(sum(delivered), 0), 6))::float8 as unsubscribed_rate
from read_models.stats_buckets
where split = '' and not moved
  and organization_id = (select organization_id from vault.analysts where role = session_user)
group by 1, 2, 3, 4;

create view analytics.keys with (security_barrier) as
select key_id as api_key_id, state->>'name' as name, state->>'domainId' as domain_id, environment, status, permissions,
  created_at, expires_at,
  (select max(u.last_used_at) from vault.key_usage u where u.key_id = k.key_id) as last_used_at
from read_models.api_keys k
where organization_id = (select organization_id from vault.analysts where role = session_user);

create view analytics.domains with (security_barrier) as
select domain_id, state->>'name' as name,
  case
    when state->>'status' = 'deleted' then 'deleted'
    when state->>'verification' is null then 'pending'
    else coalesce(state->'trouble'->>'status', 'verified')
  end as status,
  created_at, (state->'verification'->>'verifiedAt')::timestamptz as verified_at,
  state->'verification'->>'method' as verification_method
from read_models.domains
where organization_id = (select organization_id from vault.analysts where role = session_user);

-- The condition of each view is what keeps organizations apart, so that no grant is lost when the views are made again.
grant usage on schema analytics to public;
grant select on all tables in schema analytics to public;
