-- The same for organizations, all of their domains together: each is a sender beside the domains. What these tables held
-- is read from the log again.
drop table read_models.standing_domains;
drop table read_models.standing_counts;
create table read_models.standing_senders (
  -- A domain or an organization.
  sender_id text collate "C" primary key,
  organization_id text collate "C" not null,
  -- Nothing from before is counted.
  released_at timestamptz
);
create index standing_senders_of_organization on read_models.standing_senders (organization_id);
create table read_models.standing_counts (
  sender_id text collate "C",
  day date,
  delivered bigint not null,
  bounced bigint not null,
  complained bigint not null,
  primary key (sender_id, day)
);
