-- Keys whose time will be over, or is over and nobody has noted it yet: few, and asked for every few seconds.
alter table read_models.api_keys add column expiry_noted boolean not null default false;
create index api_keys_expiring on read_models.api_keys (expires_at)
  where status = 'active' and expires_at is not null and not expiry_noted;
