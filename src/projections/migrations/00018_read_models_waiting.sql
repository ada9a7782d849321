-- What mail waits for whose time has not come, so that it can be counted by its index. What is due at once, as most mail
-- is, has no entry there.
alter table read_models.deliveries add column waiting text collate "C";
create index deliveries_waiting on read_models.deliveries (waiting, due_at) where waiting is not null;
