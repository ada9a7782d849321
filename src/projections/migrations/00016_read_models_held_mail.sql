-- Mail that is kept back, by whom: it is found again when they are released, however late it would be due. No row is
-- kept back before this: there was no event that says so.
alter table read_models.deliveries add column held_by text collate "C";
create index deliveries_held on read_models.deliveries (held_by, destination, due_at) where held_by is not null;
