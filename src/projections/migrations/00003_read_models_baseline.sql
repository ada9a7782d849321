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
  state json not null,
  -- Whether the log says that it has expired.
  expiry_noted boolean not null default false
);
-- By the beginning of the name, for the search; as on the tables below.
create index api_keys_by_name on read_models.api_keys (organization_id, lower((state->>'name') collate "C"));
create index api_keys_newest on read_models.api_keys (organization_id, created_at, key_id);
-- Keys that will expire, or have expired without a note of it yet: few, and queried every few seconds.
create index api_keys_expiring on read_models.api_keys (expires_at)
  where status = 'active' and expires_at is not null and not expiry_noted;

create table read_models.domains (
  domain_id text collate "C" primary key,
  organization_id text collate "C" not null,
  created_at timestamptz not null,
  state json not null
);
create index domains_by_name on read_models.domains (organization_id, lower((state->>'name') collate "C"));
create index domains_newest on read_models.domains (organization_id, created_at, domain_id);

create table read_models.webhooks (
  webhook_id text collate "C" primary key,
  organization_id text collate "C" not null,
  environment text not null,
  status text not null,
  created_at timestamptz not null,
  state json not null
);
create index webhooks_by_url on read_models.webhooks (organization_id, lower((split_part(state->>'url', '//', 2)) collate "C"));
create index webhooks_newest on read_models.webhooks (organization_id, environment, created_at, webhook_id);

create table read_models.topics (
  topic_id text collate "C" primary key,
  organization_id text collate "C" not null,
  status text not null,
  created_at timestamptz not null,
  state json not null
);
create index topics_by_name on read_models.topics (organization_id, lower((state->>'name') collate "C"));
create index topics_newest on read_models.topics (organization_id, created_at, topic_id);

create table read_models.erasures (
  erasure_id text collate "C" primary key,
  organization_id text collate "C" not null,
  status text not null,
  created_at timestamptz not null,
  state json not null
);
create index erasures_newest on read_models.erasures (organization_id, created_at, erasure_id);

create table read_models.templates (
  template_id text collate "C" primary key,
  organization_id text collate "C" not null,
  status text not null,
  created_at timestamptz not null,
  state json not null
);
create index templates_by_name on read_models.templates (organization_id, lower((state->>'name') collate "C"));
create index templates_by_alias on read_models.templates (organization_id, lower((state->>'alias') collate "C"));
create index templates_newest on read_models.templates (organization_id, created_at, template_id);

-- The fill factor leaves room in a page: every message is updated when it is delivered, and the update touches no index.
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
  -- {"templateId", "version"}; null: it was rendered from none.
  template json,
  status text collate "C" not null,
  partial boolean not null,
  recipients json not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  scheduled_at timestamptz,
  request_id text collate "C",
  -- Keyed digest of the subject.
  subject_digest text collate "C",
  -- Which of the key's secrets sent it, from 1. Null: no key's secret did.
  secret integer
) with (fillfactor = 60);
create index messages_newest on read_models.messages (organization_id, environment, created_at, message_id);
create index messages_by_domain on read_models.messages (organization_id, environment, domain_id, created_at, message_id);
create index messages_by_key on read_models.messages (organization_id, environment, key_id, created_at, message_id);
create index messages_by_secret
  on read_models.messages (organization_id, environment, key_id, secret, created_at, message_id);
create index messages_by_stream on read_models.messages (organization_id, environment, stream, created_at, message_id);
create index messages_by_subject
  on read_models.messages (organization_id, environment, subject_digest, created_at, message_id);
-- A batch is 500 messages at most: they are sorted when they are queried.
create index messages_by_request on read_models.messages (request_id);

-- What each secret of a key sent on a day (UTC). Kept when messages and what is in them are gone.
create table read_models.key_sends (
  key_id text collate "C" not null,
  secret integer not null,
  day date not null,
  messages integer not null,
  recipients integer not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (key_id, secret, day)
) with (fillfactor = 50);

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

-- Recipients by quarter of an hour, or UTC day, of acceptance. Every recipient is counted once in each kind of `split`:
--   ''                    by the dimensions that all rows have
--   recipient_domain      by recipient domain too, which is in split_value
--   recipient_domain_day  the same, by UTC day
--   tag, tag_day          as these, once in the rows of each tag of the message, whose digest is in split_value
-- Rows that are `moved` hold what the counts by the time of the event differ by: what happened in another quarter, or day,
-- than the acceptance is subtracted there and added here. bounce_class: of `bounced` alone, '' of all other counts.
-- latency_counts: how many were delivered after about 2^(n/4) ms, for each n of latency_bins; most rows have few.
create table read_models.stats_buckets (
  organization_id text collate "C" not null,
  environment text collate "C" not null,
  split text collate "C" not null,
  bucket timestamptz not null,
  moved boolean not null default false,
  domain_id text collate "C" not null,
  stream text collate "C" not null,
  key_id text collate "C" not null,
  template_id text collate "C" not null,
  -- 0: it was rendered from none.
  template_version integer not null default 0,
  bounce_class text collate "C" not null default '',
  split_value text collate "C" not null,
  accepted integer not null default 0,
  delivered integer not null default 0,
  deferred integer not null default 0,
  bounced integer not null default 0,
  failed integer not null default 0,
  expired integer not null default 0,
  suppressed integer not null default 0,
  cancelled integer not null default 0,
  complained integer not null default 0,
  unsubscribed integer not null default 0,
  opened integer not null default 0,
  opens integer not null default 0,
  clicked integer not null default 0,
  clicks integer not null default 0,
  machine_opened integer not null default 0,
  machine_clicked integer not null default 0,
  latency_bins smallint[] not null default '{}',
  latency_counts integer[] not null default '{}',
  primary key (organization_id, environment, split, bucket, moved, domain_id, stream, key_id, template_id,
    template_version, bounce_class, split_value)
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
  template_id text not null,
  template_version integer not null,
  tags json not null,
  recipients json not null
) with (fillfactor = 70);

-- Tags by which is counted on a day (UTC), and contents that name them: tags may say something about people.
create table read_models.stats_tags (
  organization_id text collate "C" not null,
  environment text collate "C" not null,
  day date not null,
  tag text collate "C" not null,
  content_id text not null,
  primary key (organization_id, environment, day, tag)
);
create index stats_tags_newest on read_models.stats_tags (organization_id, environment, tag, day);

-- Live recipients accepted, less those that are free, by day in UTC. The events of a day come after `after_position`.
create table read_models.billing_days (
  organization_id text collate "C" not null,
  day date not null,
  billable_recipients bigint not null,
  after_position text collate "C" not null,
  primary key (organization_id, day)
) with (fillfactor = 50);

create table read_models.billing_messages (
  message_id text collate "C" primary key,
  day date not null
);

-- Invoices by month (UTC, YYYY-MM).
create table read_models.billing_invoices (
  organization_id text collate "C" not null,
  month text collate "C" not null,
  invoice_id text collate "C" not null unique,
  closed_at timestamptz not null,
  invoice json not null,
  primary key (organization_id, month)
);

-- The timetable of mail: a row for the recipients of a message at one destination, so that each destination goes at its
-- own rate. Small and busy.
create table read_models.deliveries (
  message_id text collate "C" not null,
  destination text collate "C" not null,
  environment text not null,
  bulk boolean not null,
  due_at timestamptz not null,
  lease_until timestamptz,
  expires_at timestamptz not null,
  recipients json not null,
  -- Whose hold keeps it back: its release finds it, however late it would be due.
  held_by text collate "C",
  -- What it waits for until it is due. Empty for what is due at once, as most mail is: that has no entry in the index.
  waiting text collate "C",
  primary key (message_id, destination)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
create index deliveries_due on read_models.deliveries (bulk, due_at, message_id);
-- For destinations: what is due for each, however much is due for another.
create index deliveries_by_destination on read_models.deliveries (destination, bulk, due_at);
create index deliveries_held on read_models.deliveries (held_by, destination, due_at) where held_by is not null;
create index deliveries_waiting on read_models.deliveries (waiting, due_at) where waiting is not null;

-- Destinations that are suspended for a while, or were: few.
create table read_models.destinations (
  operator text collate "C" primary key,
  since timestamptz,
  suspended_until timestamptz,
  state json not null
);
create index destinations_suspended on read_models.destinations (since, operator) where suspended_until is not null;

-- Addresses that are sent nothing, or less: the folded state, and the columns it is found by. The three arrays are the
-- entries that were not taken back, side by side; the query decides whether one has expired.
create table read_models.suppressions (
  suppression_id text collate "C" primary key,
  organization_id text collate "C" not null,
  environment text not null,
  created_at timestamptz not null,
  added_at timestamptz not null,
  reasons text[] not null,
  scopes text[] not null,
  expiries timestamptz[] not null,
  state json not null
);
-- Those that have been taken back are on no list.
create index suppressions_newest on read_models.suppressions (organization_id, environment, added_at, suppression_id)
  where reasons <> '{}';
-- As it was: nothing moves in this order, and what has been taken back is in it.
create index suppressions_by_creation on read_models.suppressions (organization_id, environment, created_at, suppression_id);
create index suppressions_by_id on read_models.suppressions (organization_id, environment, suppression_id)
  where reasons <> '{}';
-- Who has opted in to which topic, and has not refused it since.
create table read_models.topic_opt_ins (
  topic_id text collate "C",
  environment text,
  suppression_id text collate "C",
  opted_in_at timestamptz not null,
  primary key (topic_id, environment, suppression_id)
);
create index topic_opt_ins_newest on read_models.topic_opt_ins (topic_id, environment, opted_in_at, suppression_id);
create index topic_opt_ins_of_address on read_models.topic_opt_ins (suppression_id);

-- Sender reputation: what became of live bulk mail, by the sender (a domain, or an organization: all of its domains
-- together) and the day (UTC) on which the outcome was known.
create table read_models.reputation_senders (
  -- A domain or an organization.
  sender_id text collate "C" primary key,
  organization_id text collate "C" not null,
  -- Nothing from before is counted.
  released_at timestamptz
);
create index reputation_senders_of_organization on read_models.reputation_senders (organization_id);
create table read_models.reputation_counts (
  sender_id text collate "C",
  day date,
  delivered bigint not null,
  bounced bigint not null,
  complained bigint not null,
  primary key (sender_id, day)
);
-- Events about a message do not name its domain.
create table read_models.reputation_messages (
  message_id text collate "C" primary key,
  domain_id text collate "C" not null
);

-- Events of the families that processes hold in memory (keys, domains, webhooks, holds, …), so that a start folds these
-- few rows and not the whole log. Of a family whose last event of each type says everything, older ones are replaced.
create table read_models.live_view_events (
  stream text collate "C" not null,
  -- The revision, or the type where older events of it are replaced.
  slot text collate "C" not null,
  position text collate "C" not null,
  revision integer not null,
  id text not null,
  type text collate "C" not null,
  category text collate "C" not null,
  data text not null,
  metadata text not null,
  primary key (stream, slot)
);
create index live_view_events_in_order on read_models.live_view_events (position);

-- How many rows the table above has: one that has lost some is not used.
create table read_models.live_view_size (
  only_row boolean primary key default true check (only_row),
  events bigint not null
);

-- Audit trees: one Merkle tree (RFC 9162) for each organization, over the stored form of its events.
create table read_models.audit_trees (
  tree text collate "C" primary key,
  size bigint not null,
  -- Latest time of an event in a full bundle.
  latest text collate "C" not null,
  -- Leaves that the last checkpoint is about, and those up to the last one that is not about checkpoints itself.
  signed_size bigint not null,
  grown_to bigint not null,
  -- A witness contradicts the tree: nothing is signed.
  disputed boolean not null default false
);
create index audit_trees_unsigned on read_models.audit_trees (tree) where grown_to > signed_size;

-- Signed checkpoints, each at its size.
create table read_models.audit_checkpoints (
  tree text collate "C" not null,
  size bigint not null,
  note text not null,
  vkey text not null,
  signed_at text collate "C" not null,
  -- Lines of witnesses, and their keys as `<name>+<id>`.
  cosignatures text not null default '',
  cosigners text[] collate "C" not null default '{}',
  primary key (tree, size)
);

-- Leaves that fill no bundle yet: at most 255 of a tree.
create table read_models.audit_tail (
  tree text collate "C" not null,
  leaf_index bigint not null,
  leaf text not null,
  position text collate "C" not null,
  primary key (tree, leaf_index)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- 256 leaves each. No row is ever changed.
create table read_models.audit_bundles (
  tree text collate "C" not null,
  bundle bigint not null,
  -- The leaves, as an entry bundle of tlog-tiles in zstd. Their hashes, the tile of level 0, are made of them when asked for.
  entries bytea not null,
  first_position text collate "C" not null,
  -- Latest time of an event in this bundle or before it.
  latest text collate "C" not null,
  -- Ids are UUIDs in order of time (version 7): an event is looked for where its id is between these.
  id_from uuid not null,
  id_to uuid not null,
  -- What the leaves can be searched by, sorted.
  facets text[] not null,
  primary key (tree, bundle)
);
create index audit_bundles_by_id on read_models.audit_bundles (tree, id_to, id_from);
create index audit_bundles_by_time on read_models.audit_bundles (tree, latest);
create index audit_bundles_by_position on read_models.audit_bundles (tree, first_position);
create index audit_bundles_by_facet on read_models.audit_bundles using gin (facets);

-- Tiles of level 1 and above. The last of a level is not full.
create table read_models.audit_tiles (
  tree text collate "C" not null,
  level smallint not null,
  tile bigint not null,
  hashes bytea not null,
  primary key (tree, level, tile)
);
-- Neither what is compressed nor hashes get smaller.
alter table read_models.audit_bundles alter column entries set storage external;
alter table read_models.audit_tiles alter column hashes set storage external;

-- Where a rebuild makes the tables that will replace the live ones.
create schema read_models_building;
create table read_models_building.checkpoints (like read_models.checkpoints including all);
create table read_models_building.parked_events (like read_models.parked_events including all);

-- Where a replaced table is until the views over it read the new one; empty otherwise.
create schema read_models_replaced;
