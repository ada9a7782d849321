-- Events that the same endpoints of one organization are owed, until their deliveries are made.
create table vault.webhook_owed_events (
  number bigint generated always as identity primary key,
  organization_id text not null,
  -- The customer's events without personal data. json, not jsonb: read whole, never searched.
  events json not null,
  webhook_ids text[] not null,
  -- Deliveries that were made already, of each event to each endpoint in turn.
  made integer not null default 0
);

create index webhook_owed_events_in_turn on vault.webhook_owed_events (organization_id, number);
