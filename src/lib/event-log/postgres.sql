-- The log in PostgreSQL. Run by the adapter whenever it opens, as one transaction: every statement can be repeated.
-- Processes that open at the same time go one after another.
select pg_advisory_xact_lock(7881693, 0);

create schema if not exists event_log;

do $$
begin
  if exists (select from pg_class where oid = to_regclass('event_log.events') and relkind = 'r') then
    raise exception 'this database was made by an unreleased version of Outbox: start with an empty database';
  end if;
end
$$;

-- One row: the log's name, for ever. Partitions of other sizes may follow one another: only the next ones go by the size.
create table if not exists event_log.log (
  only_row boolean primary key default true check (only_row),
  id uuid not null default gen_random_uuid(),
  partition_size bigint not null default 50000000 check (partition_size >= 2000)
);
insert into event_log.log default values on conflict do nothing;

-- position: gapless, in commit order. Text is compared byte by byte ("C"), which is quicker than by language.
-- data and metadata are canonical JSON, byte for byte as it was written: the audit tree hashes them as they are. Nothing
-- here looks inside.
--
-- Partitioned by position, so that indexes, vacuum and backups stay as large as a partition however old the log grows
-- (docs/decisions/0029). Revisions of a stream are unique in each partition, and overall by event_log.streams.
create table if not exists event_log.events (
  position bigint primary key,
  stream text collate "C" not null,
  revision integer not null,
  id uuid not null,
  type text collate "C" not null,
  category text collate "C" not null,
  data text not null,
  metadata text not null
) partition by range (position);

-- Nearly every event is about a message. Who follows only the rest reads this index and not the messages between.
create index if not exists events_beside_messages on event_log.events (position) where category <> 'message';

-- Where each stream ends, and which partitions can hold it. Written under the lock of appends alone.
create table if not exists event_log.streams (
  stream text collate "C" primary key,
  revision integer not null,
  first_position bigint not null,
  last_position bigint not null
) with (fillfactor = 80);

-- Every partition that was ever made. A detached one holds events that reads must not pass over in silence.
create table if not exists event_log.partitions (
  name text primary key,
  first bigint not null unique,
  last bigint not null,
  detached_at timestamptz
);
create index if not exists partitions_detached on event_log.partitions (first) where detached_at is not null;

-- A table for one partition, not attached yet.
create or replace function event_log.make_partition(name text) returns void language plpgsql
as $$
begin
  execute format('create table event_log.%I (like event_log.events including all)', name);
  execute format('create unique index on event_log.%I (stream, revision)', name);
end
$$;

-- Position of the last event. Asking all partitions would cost more with each of them: the function names the newest two.
create or replace function event_log.point_head() returns void language plpgsql
as $$
declare
  newest text[] := (select array_agg(p.name order by p.first desc) from (
    select name, first from event_log.partitions where detached_at is null order by first desc limit 2) p);
  start bigint := (select min(p.first) - 1 from event_log.partitions p where p.name = any (newest));
begin
  execute format($f$
    create or replace function event_log.head() returns bigint stable language plpgsql
    as $h$
    begin
      return coalesce((select max(position) from event_log.%I), (select max(position) from event_log.%I), %s);
    end
    $h$ $f$, newest[1], newest[cardinality(newest)], start);
end
$$;

-- Keeps a whole partition ahead of a position. Attaching waits for no reader and no append; if something else holds
-- the table (vacuum, a detachment), a later call tries again, long before the partition is needed.
create or replace function event_log.add_partitions(head bigint) returns void language plpgsql
as $$
declare
  size bigint := (select partition_size from event_log.log where only_row);
  bound bigint := (select coalesce(max(last), 0) from event_log.partitions);
  number integer := (select count(*) from event_log.partitions);
  name text;
begin
  while bound < head + size loop
    number := number + 1;
    name := 'events_' || lpad(number::text, 6, '0');
    perform set_config('lock_timeout', '200ms', true);
    perform event_log.make_partition(name);
    execute format('alter table event_log.events attach partition event_log.%I for values from (%s) to (%s)',
      name, bound + 1, bound + size + 1);
    perform set_config('lock_timeout', '0', true);
    insert into event_log.partitions (name, first, last) values (name, bound + 1, bound + size);
    bound := bound + size;
    perform event_log.point_head();
  end loop;
exception
  when lock_not_available then null;
end
$$;

-- Takes an old partition out of the log, into the schema event_log_archive, from where it can be dumped and dropped.
create or replace function event_log.detach_partition(partition text) returns void language plpgsql
as $$
declare
  found event_log.partitions;
begin
  perform set_config('lock_timeout', '2s', true);
  select * into found from event_log.partitions where name = partition and detached_at is null for update;
  if found.name is null then
    raise exception 'there is no attached partition %', partition using errcode = 'P0001';
  end if;
  if found.last >= event_log.head() then
    raise exception 'partition % is not full', partition using errcode = 'P0001';
  end if;
  create schema if not exists event_log_archive;
  execute format('alter table event_log.events detach partition event_log.%I', partition);
  execute format('alter table event_log.%I set schema event_log_archive', partition);
  update event_log.partitions set detached_at = now() where name = partition;
  perform event_log.point_head();
end
$$;

-- Puts a partition back that was detached, if all its events are there.
create or replace function event_log.attach_partition(partition text) returns void language plpgsql
as $$
declare
  found event_log.partitions;
  whole boolean;
begin
  perform set_config('lock_timeout', '2s', true);
  select * into found from event_log.partitions where name = partition and detached_at is not null for update;
  if found.name is null then
    raise exception 'there is no detached partition %', partition using errcode = 'P0001';
  end if;
  execute format('select count(*) = $2 - $1 + 1 and min(position) = $1 and max(position) = $2 from event_log_archive.%I',
    partition) into whole using found.first, found.last;
  if not whole then
    raise exception 'event_log_archive.% does not hold the positions % to %', partition, found.first, found.last
      using errcode = 'P0001';
  end if;
  execute format('alter table event_log_archive.%I set schema event_log', partition);
  execute format('alter table event_log.events attach partition event_log.%I for values from (%s) to (%s)',
    partition, found.first, found.last + 1);
  update event_log.partitions set detached_at = null where name = partition;
  perform event_log.point_head();
end
$$;

-- For a restore into an empty log: partitions as `event_log.partitions` names them.
create or replace function event_log.remake_partitions() returns void language plpgsql
as $$
declare
  one record;
begin
  if event_log.head() > 0 then
    raise exception 'the log is not empty';
  end if;
  for one in select inhrelid::regclass as name from pg_inherits where inhparent = 'event_log.events'::regclass loop
    execute format('drop table %s', one.name);
  end loop;
  for one in select * from event_log.partitions where detached_at is null order by first loop
    perform event_log.make_partition(one.name);
    execute format('alter table event_log.events attach partition event_log.%I for values from (%s) to (%s)',
      one.name, one.first, one.last + 1);
  end loop;
  perform event_log.point_head();
end
$$;

do $$
begin
  if to_regprocedure('event_log.head()') is null then
    perform event_log.add_partitions(0);
  end if;
end
$$;

-- Appends a group of appends, each all or nothing, at most one for each stream; answers one row for each, in order:
--   (revision, position, true)     of its last event, written now or by an earlier append of the same ids
--   (actual revision, null, false) in conflict; -1 is no stream
-- The lock is taken in a statement of its own: only the next statement's snapshot is young enough to see what the
-- lock's last holder committed. It is held until the commit is durable, so positions are in commit order without gaps.
--
-- appends:  m_* one element for each append; m_count is its number of events
-- events:   e_* one element for each event, append after append; e_member is the append's index, e_number from 1,
--           e_metadata the index of its metadata in x_metadata
-- contents: c_* one element for each row of vault.contents; c_member is the append's index; those from c_head may be empty, save c_body
--
-- Old and new processes may run side by side: a function that does or answers something else gets another name.
create or replace function event_log.append(
  m_stream text[], m_expected integer[], m_count integer[], x_metadata text[],
  e_member integer[], e_number integer[], e_id text[], e_type text[], e_metadata integer[], e_data text[],
  c_member integer[], c_id text[], c_organization text[], c_kind text[], c_head text[],
  c_body text[], c_message text[], c_words text[]
) returns table (revision integer, "position" bigint, appended boolean) language plpgsql
as $$
#variable_conflict use_column
declare
  head bigint;
  actual integer[];
  all_free boolean;
begin
  perform pg_advisory_xact_lock(7881693, 1);

  select event_log.head(), array_agg(s.actual order by s.ord), bool_and(s.actual = s.expected)
  into head, actual, all_free
  from (
    select m.ord, m.expected,
      coalesce((select s.revision from event_log.streams s where s.stream = m.stream), -1) as actual
    from unnest(m_stream, m_expected) with ordinality as m (stream, expected, ord)
  ) s;

  -- Every 1,000 events: often enough for partitions of any size.
  if (head + cardinality(e_id)) / 1000 > head / 1000 then
    perform event_log.add_partitions(head + cardinality(e_id));
  end if;

  insert into event_log.events (position, stream, revision, id, type, category, data, metadata)
  select head + row_number() over (order by e.ord), m_stream[e.member], m_expected[e.member] + e.number, e.id::uuid, e.type,
    split_part(m_stream[e.member], '-', 1), e.data, x_metadata[e.metadata]
  from unnest(e_member, e_number, e_id, e_type, e_metadata, e_data) with ordinality
    as e (member, number, id, type, metadata, data, ord)
  where actual[e.member] = m_expected[e.member];
  if found then
    insert into event_log.streams (stream, revision, first_position, last_position)
    select m.stream, m.expected + m.count, head + m.until - m.count + 1, head + m.until
    from (
      select u.stream, u.expected, u.count, sum(u.count) over (order by u.ord) as until
      from unnest(m_stream, m_expected, m_count, actual) with ordinality as u (stream, expected, count, actual, ord)
      where u.actual = u.expected
    ) m
    on conflict (stream) do update set revision = excluded.revision, last_position = excluded.last_position;
    perform pg_notify('event_log', '');
  end if;

  if cardinality(c_id) > 0 then
    insert into vault.contents (id, organization_id, kind, message_id, head, body, size_bytes, subject_words)
    select c.id::uuid, c.organization, c.kind, nullif(c.message, ''), nullif(c.head, '')::json, c.body::json,
      octet_length(c.body), nullif(c.words, '')::bigint[]
    from unnest(c_member, c_id, c_organization, c_kind, c_message, c_head, c_body, c_words)
      as c (member, id, organization, kind, message, head, body, words)
    where actual[c.member] = m_expected[c.member]
    on conflict (id) do nothing;
  end if;

  if all_free then
    return query
    select (m.expected + m.count)::integer, head + sum(m.count) over (order by m.ord), true
    from unnest(m_expected, m_count) with ordinality as m (expected, count, ord)
    order by m.ord;
    return;
  end if;

  return query
  select
    case when m.free or r.repeated then m.expected + m.count else m.actual end,
    case when m.free then head + m.written when r.repeated then r.position end,
    m.free or r.repeated
  from (
    select u.ord, u.expected, u.count, u.actual, u.actual = u.expected as free,
      sum(case when u.actual = u.expected then u.count else 0 end) over (order by u.ord) as written
    from unnest(m_expected, m_count, actual) with ordinality as u (expected, count, actual, ord)
  ) m
  cross join lateral (
    -- the same ids in the same places: what an earlier append of them was answered
    select count(*) = m.count as repeated, max(o.position) as position
    from unnest(e_member, e_number, e_id) as e (member, number, id)
    join event_log.events o
      on o.stream = m_stream[m.ord] and o.revision = m.expected + e.number and o.id = e.id::uuid
    where e.member = m.ord and not m.free
  ) r
  order by m.ord;
end
$$;
