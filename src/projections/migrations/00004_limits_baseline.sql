-- What each API process let through of each bucket in the last minute (docs/decisions/0011). May be dropped or emptied at
-- any moment: processes then know of each other only what they tell from then on. Unlogged, so that a sync never waits
-- for a disk or delays the log's commits.
create schema limits;

create unlogged table limits.counters (
  bucket text not null,
  process uuid not null,
  -- What was let through together, and how long before `told_at` that ended.
  costs integer[] not null,
  ages_ms integer[] not null,
  told_at timestamptz not null,
  primary key (bucket, process)
) with (fillfactor = 60);

create index counters_told_at on limits.counters (told_at);
