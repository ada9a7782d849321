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
  created_at timestamptz not null
);

create index webhook_deliveries_due on vault.webhook_deliveries (webhook_id, due_at) where state = 'pending';
create index webhook_deliveries_newest on vault.webhook_deliveries (webhook_id, number);

-- No foreign key: its check would cost as much as the insert, and rows of both tables go by age alone.
create table vault.webhook_tries (
  delivery_id text not null,
  attempt integer not null,
  at timestamptz not null,
  status integer,
  duration_ms integer not null,
  answer text not null,
  primary key (delivery_id, attempt)
);

-- How far the log has been turned into deliveries; moved in the transaction that inserts them.
create table vault.webhook_recording (
  only_row boolean primary key default true check (only_row),
  log_id text not null,
  position text not null
);
