-- The timetable by destination: a row for the recipients of a message in one domain, so that each goes its own way.
-- What it held is read from the log again.
drop table read_models.deliveries;
create table read_models.deliveries (
  message_id text collate "C" not null,
  destination text collate "C" not null,
  environment text not null,
  bulk boolean not null,
  due_at timestamptz not null,
  lease_until timestamptz,
  expires_at timestamptz not null,
  recipients json not null,
  primary key (message_id, destination)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
create index deliveries_due on read_models.deliveries (bulk, due_at, message_id);
-- For servers of many destinations: what is due for each, however much is due for another.
create index deliveries_by_destination on read_models.deliveries (destination, bulk, due_at);
