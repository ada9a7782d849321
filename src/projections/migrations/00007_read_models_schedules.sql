-- Messages that wait for their time, and recipients whose message was called off or who want no more.
alter table read_models.messages add column scheduled_at timestamptz;
alter table read_models.stats_buckets
  add column cancelled bigint not null default 0,
  add column unsubscribed bigint not null default 0;
