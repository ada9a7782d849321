-- Contents come in the order of their age, which a block range index tells as well, and at no cost to an insert.
drop index vault.contents_by_age;
create index contents_by_age on vault.contents using brin (created_at);

-- A message of a few kilobytes stays in its row: the table behind it would cost a row and an index entry more.
alter table vault.contents set (toast_tuple_target = 8160);
