-- Other people's mail servers that get nothing for a while: few, and asked for by whoever wonders why mail waits.
create table read_models.destinations (
  operator text collate "C" primary key,
  since timestamptz,
  suspended_until timestamptz,
  state json not null
);
create index destinations_suspended on read_models.destinations (since, operator) where suspended_until is not null;
