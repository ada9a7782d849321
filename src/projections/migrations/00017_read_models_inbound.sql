create table read_models.inbound_messages (
  inbound_id text collate "C" primary key,
  organization_id text collate "C" not null,
  environment text not null,
  domain_id text collate "C" not null,
  created_at timestamptz not null,
  content_id uuid not null,
  to_digest text not null,
  from_digests text[] not null,
  state json not null
);
create index inbound_messages_newest on read_models.inbound_messages (organization_id, environment, created_at, inbound_id);
create index inbound_messages_to on read_models.inbound_messages (organization_id, to_digest);
create index inbound_messages_from on read_models.inbound_messages using gin (from_digests);
