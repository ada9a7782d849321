-- Addresses that are sent nothing, or less: the folded state, and the columns it is found by. The three arrays are the
-- entries that were not taken back, side by side; whether one has expired is for the query to say.
create table read_models.suppressions (
  suppression_id text collate "C" primary key,
  organization_id text collate "C" not null,
  environment text not null,
  added_at timestamptz not null,
  reasons text[] not null,
  scopes text[] not null,
  expiries timestamptz[] not null,
  state json not null
);
-- Those that have been taken back are on no list.
create index suppressions_newest on read_models.suppressions (organization_id, environment, added_at, suppression_id)
  where reasons <> '{}';
create index suppressions_by_id on read_models.suppressions (organization_id, environment, suppression_id)
  where reasons <> '{}';
