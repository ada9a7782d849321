-- Endpoints that have not taken anything since a post of theirs failed: no row, and all is well. Kept apart from the
-- deliveries, which are many and go by age.
create table vault.webhook_failures (
  webhook_id text primary key,
  since timestamptz not null
);
