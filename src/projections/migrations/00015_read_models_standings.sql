-- What became of live bulk mail, by the domain it was sent from and the day (UTC) it was heard.
create table read_models.standing_domains (
  domain_id text collate "C" primary key,
  organization_id text collate "C" not null,
  -- Nothing from before is counted.
  released_at timestamptz
);
create table read_models.standing_counts (
  domain_id text collate "C",
  day date,
  delivered bigint not null,
  bounced bigint not null,
  complained bigint not null,
  primary key (domain_id, day)
);
-- Events about a message do not name its domain.
create table read_models.standing_messages (
  message_id text collate "C" primary key,
  domain_id text collate "C" not null
);
