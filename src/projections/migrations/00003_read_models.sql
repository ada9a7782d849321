-- What queries read. All of it is made from the log and may be deleted at any moment at the price of delay alone.
-- Ids and positions are compared byte by byte ("C"), as the log does, which is also quicker than by language. json, not
-- jsonb: written and read whole, never searched.
create schema read_models;

-- One row for each projection: how far of which log is in its tables, moved in the transaction that changes them.
create table read_models.checkpoints (
  name text collate "C" primary key,
  version integer not null,
  log_id text not null,
  position text collate "C" not null,
  -- When the last event that has been handled happened.
  occurred_at timestamptz
) with (fillfactor = 20);

-- Events that could not be applied, and the later ones of their streams; applied by retry-parked in this order.
create table read_models.parked_events (
  projection text collate "C" not null,
  position text collate "C" not null,
  stream text collate "C" not null,
  revision integer not null,
  type text not null,
  error text not null,
  parked_at timestamptz not null,
  primary key (projection, position)
);

-- Keys, domains and webhooks: the folded state, and the columns it is found by.
create table read_models.api_keys (
  key_id text collate "C" primary key,
  organization_id text collate "C" not null,
  environment text not null,
  status text not null,
  permissions text[] not null,
  expires_at timestamptz,
  created_at timestamptz not null,
  state json not null
);
create index api_keys_newest on read_models.api_keys (organization_id, created_at, key_id);

create table read_models.domains (
  domain_id text collate "C" primary key,
  organization_id text collate "C" not null,
  created_at timestamptz not null,
  state json not null
);
create index domains_newest on read_models.domains (organization_id, created_at, domain_id);

create table read_models.webhooks (
  webhook_id text collate "C" primary key,
  organization_id text collate "C" not null,
  environment text not null,
  status text not null,
  created_at timestamptz not null,
  state json not null
);
create index webhooks_newest on read_models.webhooks (organization_id, environment, created_at, webhook_id);

create table read_models.messages (
  message_id text collate "C" primary key,
  organization_id text collate "C" not null,
  environment text collate "C" not null,
  domain_id text collate "C" not null,
  key_id text collate "C" not null,
  content_id text not null,
  internet_message_id text not null,
  stream text not null,
  size_bytes integer not null,
  status text collate "C" not null,
  partial boolean not null,
  recipients json not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null
);
create index messages_newest on read_models.messages (organization_id, environment, created_at, message_id);
create index messages_by_domain on read_models.messages (organization_id, environment, domain_id, created_at, message_id);

-- Keyed digests that messages are looked up by: 'to:…', 'from:…', 'tag:…'. Insert-only, in the order of the list.
create table read_models.message_labels (
  organization_id text collate "C" not null,
  environment text collate "C" not null,
  label text collate "C" not null,
  created_at timestamptz not null,
  message_id text collate "C" not null
);
-- Not a primary key, which a rebuild would have to keep up row by row: nothing is inserted on conflict.
create unique index message_labels_newest
  on read_models.message_labels (organization_id, environment, label, created_at, message_id);

-- The customers' feed. environment 'both': concerns live and test.
create table read_models.customer_events (
  organization_id text collate "C" not null,
  environment text collate "C" not null,
  position text collate "C" not null,
  item smallint not null,
  type text collate "C" not null,
  domain_id text collate "C",
  event_id text not null,
  subject_id text not null,
  sequence integer not null,
  recipient_id text,
  content_id text,
  facts json not null,
  occurred_at timestamptz not null
);
create unique index customer_events_newest on read_models.customer_events (organization_id, environment, position, item);
create index customer_events_by_type on read_models.customer_events (organization_id, environment, type, position, item);
create index customer_events_by_domain on read_models.customer_events (organization_id, environment, domain_id, position, item)
  where domain_id is not null;

-- Later events of a message do not say which domain it was sent from.
create table read_models.customer_event_messages (
  message_id text collate "C" primary key,
  domain_id text collate "C" not null
);

-- Recipients by quarter of an hour of acceptance. latency_counts: how many were delivered after about 2^(n/4) ms, for
-- each n of latency_bins; most rows have few.
create table read_models.stats_buckets (
  organization_id text collate "C" not null,
  environment text collate "C" not null,
  bucket timestamptz not null,
  domain_id text collate "C" not null,
  stream text collate "C" not null,
  key_id text collate "C" not null,
  recipient_domain text collate "C" not null,
  accepted bigint not null,
  delivered bigint not null,
  deferred bigint not null,
  bounced bigint not null,
  failed bigint not null,
  expired bigint not null,
  suppressed bigint not null,
  complained bigint not null,
  latency_bins smallint[] not null,
  latency_counts bigint[] not null,
  primary key (organization_id, environment, bucket, domain_id, stream, key_id, recipient_domain)
) with (fillfactor = 50);

-- Where a message is counted, and what of its recipients has been counted.
create table read_models.stats_messages (
  message_id text collate "C" primary key,
  organization_id text not null,
  environment text not null,
  accepted_at timestamptz not null,
  domain_id text not null,
  stream text not null,
  key_id text not null,
  recipients json not null
) with (fillfactor = 70);

-- Live recipients accepted, less those that are free, by day in UTC.
create table read_models.billing_days (
  organization_id text collate "C" not null,
  day date not null,
  billable_recipients bigint not null,
  primary key (organization_id, day)
) with (fillfactor = 50);

create table read_models.billing_messages (
  message_id text collate "C" primary key,
  day date not null
);

-- The timetable of mail: messages that have recipients to be attempted. Small and busy.
create table read_models.deliveries (
  message_id text collate "C" primary key,
  route text not null,
  state text not null,
  due_at timestamptz not null,
  lease_until timestamptz,
  expires_at timestamptz not null,
  recipients json not null
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
create index deliveries_due on read_models.deliveries (due_at, message_id);

-- Where a rebuild makes the tables that will replace the live ones.
create schema read_models_building;
create table read_models_building.checkpoints (like read_models.checkpoints including all);
create table read_models_building.parked_events (like read_models.parked_events including all);
