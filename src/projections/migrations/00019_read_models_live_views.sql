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
  schema_version integer not null,
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
