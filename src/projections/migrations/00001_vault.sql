-- The vault: with the log, the only truth. Back up both. Nothing here can be made again from anywhere.
create schema if not exists vault;

-- Personal data that events name by id. Insert-only; erasure and retention delete. json, not jsonb: stored as it was
-- written, read whole, never searched.
create table vault.contents (
  id uuid primary key,
  organization_id text not null,
  kind text not null,
  body json not null,
  created_at timestamptz not null default now()
);

-- Cheaper than the default on both ends; the built-in server is made without it.
do $$
begin
  alter table vault.contents alter column body set compression lz4;
exception
  when feature_not_supported then null;
end
$$;

-- Retention goes by organization and age.
create index contents_by_age on vault.contents (organization_id, created_at);

-- AES-256-GCM under a key derived from SECRET_KEY, bound to the id. Insert-only.
create table vault.secrets (
  id text primary key,
  organization_id text,
  ciphertext bytea not null,
  created_at timestamptz not null default now()
);

-- Marks of use, kept to the minute. A key keeps its id when it is rotated, each of its secrets has its own marks.
create table vault.key_usage (
  key_id text not null,
  secret_hash text not null,
  last_used_at timestamptz not null,
  last_address text,
  primary key (key_id, secret_hash)
);
