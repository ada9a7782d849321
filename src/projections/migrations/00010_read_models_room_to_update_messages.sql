-- Every message is updated when it is delivered: with room in its page that leaves the three indexes alone.
alter table read_models.messages set (fillfactor = 60);
