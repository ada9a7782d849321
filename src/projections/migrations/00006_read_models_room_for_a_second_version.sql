-- A message's rows are written as it is accepted and once more as it ends. With room for all second versions in a page, an
-- update touches no index: before, a quarter of the updates of messages and half of those of statistics did.
alter table read_models.messages set (fillfactor = 50);
alter table read_models.stats_messages set (fillfactor = 50);
