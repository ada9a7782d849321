-- The vault: with the log, the only truth. Back up both. Nothing here can be made again from anywhere.
create schema if not exists vault;

-- Personal data that events name by id. Insert-only; retention puts kind `expired` in the place of a content, and an
-- erasure `erased`, or `partly_erased` while it still says who other recipients were, so that what is missing without such a
-- row is known to be lost. json, not jsonb: stored as it was written, read whole, never searched.
create table vault.contents (
  id uuid primary key,
  organization_id text not null,
  kind text not null,
  body json not null,
  created_at timestamptz not null default now(),
  -- The body without html, text and attachments, so that lists need not read what is large. Absent for replies, which
  -- are small.
  head json,
  -- Of the body, as JSON: so that a query reads no more than fits into memory.
  size_bytes integer,
  -- Of a message, a reply or a link.
  message_id text,
  -- Of a message: keyed digests of the words of its subject.
  subject_words bigint[]
);

-- Messages by words of their subject. A send appends to a list of 128 kB at most, whose entries are sorted into the index
-- together: half of what each by itself costs, and a search reads the list in a millisecond. Larger: longer pauses.
create index contents_by_subject on vault.contents using gin (subject_words)
  with (fastupdate = on, gin_pending_list_limit = 128) where subject_words is not null;

-- A message of a few kilobytes stays in its row: the table behind it would cost a row and an index entry more.
alter table vault.contents set (toast_tuple_target = 8160);

-- Cheaper than the default on both ends; the built-in server is made without it.
do $$
begin
  alter table vault.contents alter column body set compression lz4;
exception
  when feature_not_supported then null;
end
$$;

-- What retention looks at, oldest first. A row leaves it with its content, so that a look costs what is left to do.
create index contents_by_age on vault.contents (organization_id, created_at, id)
  where kind in ('message', 'reply', 'link', 'contact', 'partly_erased');

-- AES-256-GCM under a key derived from SECRET_KEY, bound to the id. Insert-only.
create table vault.secrets (
  id text primary key,
  organization_id text,
  ciphertext bytea not null,
  created_at timestamptz not null default now()
);

-- Marks of use, kept to the minute. A key keeps its id when it is rotated, each of its secrets has its own marks.
create table vault.key_usage (
  key_id text not null,
  secret_hash text not null,
  last_used_at timestamptz not null,
  last_address text,
  primary key (key_id, secret_hash)
);

-- What webhook endpoints are owed. Claiming moves due_at to the end of the lease: a lease that is lost is simply due
-- again, and one index serves new rows, retries and lost leases.
create table vault.webhook_deliveries (
  id text primary key,
  number bigint generated always as identity,
  webhook_id text not null,
  -- The customer's event without personal data. json, not jsonb: read whole, never searched.
  event json not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  due_at timestamptz not null,
  created_at timestamptz not null,
  -- Null: it is owed since it happened.
  replay_id text
);

create index webhook_deliveries_due on vault.webhook_deliveries (webhook_id, due_at) where state = 'pending';
create index webhook_deliveries_newest on vault.webhook_deliveries (webhook_id, number);

create index webhook_deliveries_ended on vault.webhook_deliveries (created_at) where state <> 'pending';
create index webhook_deliveries_of_replay on vault.webhook_deliveries (replay_id, state) where replay_id is not null;

-- Events that are posted again on request. Its place in the feed moves in the statement that inserts their deliveries.
create table vault.webhook_replays (
  id text primary key,
  number bigint generated always as identity,
  webhook_id text not null,
  state text not null default 'running' check (state in ('running', 'completed', 'cancelled')),
  since timestamptz,
  until timestamptz not null,
  place_position text not null,
  place_index integer not null,
  -- The log ended here when it was asked for.
  up_to text not null,
  created_at timestamptz not null,
  ended_at timestamptz
);

create unique index webhook_replays_running on vault.webhook_replays (webhook_id) where state = 'running';
create index webhook_replays_newest on vault.webhook_replays (webhook_id, number);
create index webhook_replays_ended on vault.webhook_replays (ended_at) where state <> 'running';

-- No foreign key: its check would cost as much as the insert, and rows of both tables go by age alone.
create table vault.webhook_tries (
  delivery_id text not null,
  attempt integer not null,
  at timestamptz not null,
  status integer,
  duration_ms integer not null,
  answer text not null,
  -- What was posted, without what is secret: names of the customer's own headers, separated by commas.
  url text not null,
  header_names text not null,
  body_bytes integer not null,
  body_sha256 bytea not null,
  primary key (delivery_id, attempt)
);

create index webhook_tries_by_age on vault.webhook_tries (at);

-- How far the log has been turned into deliveries; moved in the transaction that inserts them.
create table vault.webhook_recording (
  only_row boolean primary key default true check (only_row),
  log_id text not null,
  position text not null
);

-- Endpoints that have not taken anything since a post of theirs failed: no row, and all is well. Kept apart from the
-- deliveries, which are many and go by age.
create table vault.webhook_failures (
  webhook_id text primary key,
  since timestamptz not null
);

-- Written by a restore: mail that was accepted before is held until it is released. Not part of a backup.
create table vault.restore_hold (
  only_row boolean primary key default true check (only_row),
  restored_at timestamptz not null,
  backup_taken_at timestamptz not null,
  released_at timestamptz
);

-- Who was at the other end of requests that managed something; events name them by id. Swept after a year.
create table vault.request_origins (
  id uuid primary key,
  organization_id text not null,
  address text not null,
  user_agent text,
  at timestamptz not null,
  -- Of the part that the events are bound to.
  salt text not null
);

create index request_origins_by_age on vault.request_origins (at);

-- Why requests were refused, for those who sent them. Without what the bodies said; swept after seven days.
create table vault.refused_requests (
  id text primary key,
  organization_id text not null,
  environment text not null,
  domain_id text,
  principal_id text not null,
  at timestamptz not null,
  method text not null,
  route text,
  path text not null,
  status smallint not null,
  code text not null,
  message text not null,
  -- json, not jsonb: read whole, never searched.
  problems json not null,
  body json,
  client_address text not null,
  user_agent text,
  duration_ms integer not null,
  -- Requests that the row stands for.
  count integer not null,
  -- Of the addresses in the body, whose domains it shows.
  address_digests text[] not null
);

create index refused_requests_newest on vault.refused_requests (organization_id, environment, at, id);
create index refused_requests_of_principal on vault.refused_requests (organization_id, environment, principal_id, at, id);
create index refused_requests_of_code on vault.refused_requests (organization_id, environment, code, at, id);
create index refused_requests_by_age on vault.refused_requests (at);
create index refused_requests_of_address on vault.refused_requests using gin (address_digests)
  where address_digests <> '{}';

-- Database roles that read the schema analytics, each the rows of one organization.
create table vault.analysts (
  role text primary key,
  organization_id text not null,
  name text not null,
  created_at timestamptz not null default now(),
  -- Person and host.
  created_by text not null
);

-- What erasures of people removed from this vault, and whether it holds nothing of theirs any more. A vault that was
-- restored from before has no such mark: the erasure is carried out again.
create table vault.erasures (
  erasure_id text primary key,
  organization_id text not null,
  messages integer not null default 0,
  replies integer not null default 0,
  links integer not null default 0,
  suppression_evidence integer not null default 0,
  webhook_tries integer not null default 0,
  captured_mail integer not null default 0,
  contacts integer not null default 0,
  -- Those that have not ended for all recipients.
  waiting_messages integer not null default 0,
  updated_at timestamptz not null,
  -- Null: it is not known to be done.
  done_at timestamptz
);
