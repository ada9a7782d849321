-- Inbound messages age like sent ones. The index is made again, which reads the table once: its condition has to name
-- every kind that retention looks for.
drop index vault.contents_by_age;

create index contents_by_age on vault.contents (organization_id, created_at, id)
  where kind in ('message', 'inbound', 'inbound_raw', 'reply', 'link', 'contact', 'partly_erased');
