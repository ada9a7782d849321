-- The log in PostgreSQL. Run by the adapter whenever it opens, as one transaction: every statement can be repeated.
-- Processes that open at the same time go one after another.
select pg_advisory_xact_lock(7881693, 0);

create schema if not exists event_log;

-- One row: the log's name, for ever.
create table if not exists event_log.log (
  only_row boolean primary key default true check (only_row),
  id uuid not null default gen_random_uuid()
);
insert into event_log.log default values on conflict do nothing;

-- position: gapless, in commit order. Text is compared byte by byte ("C"), which is quicker than by language.
-- data and metadata are JSON as it was written: nothing here looks inside, and parsing it again would only cost.
create table if not exists event_log.events (
  position bigint primary key,
  stream text collate "C" not null,
  revision integer not null,
  id uuid not null,
  type text collate "C" not null,
  schema_version integer not null,
  category text collate "C" not null,
  data text not null,
  metadata text not null,
  unique (stream, revision)
);

-- Nearly every event is about a message. Who follows only the rest reads this index and not the messages between.
create index if not exists events_beside_messages on event_log.events (position) where category <> 'message';

-- Appends a group of appends, each all or nothing, at most one for each stream; answers one row for each, in order:
--   (revision, position, true)     of its last event, written now or by an earlier append of the same ids
--   (actual revision, null, false) in conflict; -1 is no stream
-- The lock is taken in a statement of its own: only the next statement's snapshot is young enough to see what the
-- lock's last holder committed. It is held until the commit is durable, so positions are in commit order without gaps.
--
-- appends:  m_* one element for each append; m_count is its number of events
-- events:   e_* one element for each event, append after append; e_member is the append's index, e_number from 1
-- contents: c_* one element for each row of vault.contents; c_member is the append's index; c_head and c_message may be empty
--
-- Old and new processes may run side by side: a function that does or answers something else gets another name.
create or replace function event_log.append_with_heads(
  m_stream text[], m_expected integer[], m_count integer[], m_context text[],
  e_member integer[], e_number integer[], e_id text[], e_type text[], e_version integer[], e_data text[],
  c_member integer[], c_id text[], c_organization text[], c_kind text[], c_head text[],
  c_body text[], c_message text[]
) returns table (revision integer, "position" bigint, appended boolean) language plpgsql
as $$
#variable_conflict use_column
declare
  head bigint;
  actual integer[];
  all_free boolean;
begin
  perform pg_advisory_xact_lock(7881693, 1);

  select coalesce((select max(e.position) from event_log.events e), 0), array_agg(s.actual order by s.ord),
    bool_and(s.actual = s.expected)
  into head, actual, all_free
  from (
    select m.ord, m.expected, coalesce(
      (select e.revision from event_log.events e where e.stream = m.stream order by e.revision desc limit 1), -1
    ) as actual
    from unnest(m_stream, m_expected) with ordinality as m (stream, expected, ord)
  ) s;

  insert into event_log.events (position, stream, revision, id, type, schema_version, category, data, metadata)
  select head + row_number() over (order by e.ord), m_stream[e.member], m_expected[e.member] + e.number, e.id::uuid, e.type,
    e.version, split_part(m_stream[e.member], '-', 1), e.data, m_context[e.member]
  from unnest(e_member, e_number, e_id, e_type, e_version, e_data) with ordinality
    as e (member, number, id, type, version, data, ord)
  where actual[e.member] = m_expected[e.member];
  if found then
    perform pg_notify('event_log', '');
  end if;

  if cardinality(c_id) > 0 then
    insert into vault.contents (id, organization_id, kind, message_id, head, body, size_bytes)
    select c.id::uuid, c.organization, c.kind, nullif(c.message, ''), nullif(c.head, '')::json, c.body::json,
      octet_length(c.body)
    from unnest(c_member, c_id, c_organization, c_kind, c_message, c_head, c_body)
      as c (member, id, organization, kind, message, head, body)
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
