-- What of its rate limits each API process may use (docs/decisions/0011). May be dropped or emptied at any moment: the
-- processes then tell anew what they hold. Unlogged, so that no exchange waits for a disk or delays the log's commits.
create schema limits;

create unlogged table limits.processes (
  id uuid primary key,
  -- Number of its last exchange: one that comes late, after the process gave it up, changes nothing.
  call bigint not null,
  seen_at timestamptz not null,
  -- It takes from every bucket without having a slice of it, until it is told that there are others.
  alone boolean not null
);

-- The slices of a bucket never come to more than its limit.
create unlogged table limits.slices (
  bucket text not null,
  process uuid not null,
  share integer not null,
  -- What of it had been taken when the process last spoke of it.
  taken integer not null,
  -- When the first of what it took leaves the window; null: it has taken nothing.
  frees_at timestamptz,
  primary key (bucket, process)
) with (fillfactor = 60);

create index slices_of_process on limits.slices (process);

-- What processes lacked a moment ago; holders of slices give way to it.
create unlogged table limits.wants (
  bucket text not null,
  process uuid not null,
  wanted integer not null,
  ceiling integer not null,
  at timestamptz not null,
  primary key (bucket, process)
);

-- One exchange of a process: it says what it keeps of each bucket, which is never more than it had, and is given more.
-- In PL/pgSQL because the sums must be read after the lock is held. Clocks of other machines play no part.
create function limits.exchange(
  me uuid, my_call bigint, claims_all boolean, lease interval, time_window interval,
  buckets text[], ceilings integer[], keeps integer[], least_needs integer[], needs integer[], aheads boolean[],
  takens integer[], frees_ms integer[]
) returns json language plpgsql as $$
declare
  moment timestamptz;
  gone uuid[];
  was_known boolean;
  is_alone boolean;
  is_blocked boolean;
  members integer;
  given json;
  wanted_of_me json;
begin
  perform pg_advisory_xact_lock(7310006);
  moment := clock_timestamp();

  -- The silent have stopped taking when their lease ended, and a window later all they took has left it. Of one that
  -- was alone nobody knows what it took.
  with silent as (
    delete from limits.processes p
    where p.id <> me
      and p.seen_at < moment - lease - case when p.alone then interval '0' else time_window + interval '1 second' end
    returning p.id
  ) select array_agg(id) from silent into gone;
  if gone is not null then
    delete from limits.slices s where s.process = any (gone);
  end if;
  delete from limits.wants w where w.at < moment - interval '2 seconds';

  was_known := exists (select from limits.processes p where p.id = me);
  is_alone := not exists (select from limits.processes p where p.id <> me);
  is_blocked := exists (select from limits.processes p where p.id <> me and p.alone);
  insert into limits.processes as p (id, call, seen_at, alone)
    values (me, my_call, moment, claims_all or is_alone)
    on conflict (id) do update set call = excluded.call, seen_at = excluded.seen_at, alone = excluded.alone
      where p.call < excluded.call;
  if not found then
    return null;
  end if;
  if is_alone then
    delete from limits.slices s where s.process = me;
    return json_build_object('known', was_known, 'alone', true, 'blocked', false, 'members', 1,
      'given', '[]'::json, 'wanted', '[]'::json);
  end if;
  select count(*) from limits.processes p where p.seen_at >= moment - lease into members;

  with asked as (
    select * from unnest(buckets, ceilings, keeps, least_needs, needs, aheads, takens, frees_ms) with ordinality
      as a (bucket, ceiling, keep, least_need, need, ahead, taken, frees, number)
  ), held as (
    select a.*,
      coalesce(o.share, 0) as others_share,
      -- What others hold and have not taken is given back soon.
      case when o.share > o.taken then 0
        when o.share > 0 then coalesce(extract(epoch from o.frees_at - moment) * 1000, 0)::integer end as others_ms,
      -- Who has his even part already waits while others lack something.
      case when is_blocked
          or a.keep >= ceil(a.ceiling::numeric / members)
            and exists (select from limits.wants w where w.bucket = a.bucket and w.process <> me)
        then 0 else greatest(a.ceiling - a.keep - coalesce(o.share, 0), 0) end as free
    from asked a
    left join lateral (
      select sum(s.share)::bigint as share, sum(s.taken)::bigint as taken, min(s.frees_at) as frees_at
      from limits.slices s where s.bucket = a.bucket and s.process <> me
    ) o on true
  ), granted as (
    select h.*, case when h.free < h.least_need then 0 else
      least(h.free, greatest(h.need, case when h.ahead then ceil(h.free::numeric / members) else 0 end))::integer
      end as more
    from held h
  ), kept as (
    insert into limits.slices as s (bucket, process, share, taken, frees_at)
      select g.bucket, me, g.keep + g.more, g.taken, moment + g.frees * interval '1 millisecond'
      from granted g where g.keep + g.more > 0
      on conflict (bucket, process)
        do update set share = excluded.share, taken = excluded.taken, frees_at = excluded.frees_at
  ), dropped as (
    delete from limits.slices s using granted g
      where s.bucket = g.bucket and s.process = me and g.keep + g.more = 0
  ), lacking as (
    insert into limits.wants as w (bucket, process, wanted, ceiling, at)
      select g.bucket, me, g.need - g.more, g.ceiling, moment from granted g where g.need > g.more
      on conflict (bucket, process)
        do update set wanted = excluded.wanted, ceiling = excluded.ceiling, at = excluded.at
  ), satisfied as (
    delete from limits.wants w using granted g
      where w.bucket = g.bucket and w.process = me and g.need > 0 and g.need <= g.more
  )
  select coalesce(json_agg(json_build_array(g.more, g.free - g.more, g.others_ms) order by g.number), '[]')
    from granted g into given;

  -- What has been given back since is there for them already.
  select coalesce(json_agg(json_build_array(x.bucket, x.wanted)), '[]') from (
    select w.bucket, least(sum(w.wanted), max(w.ceiling)) - greatest(max(w.ceiling) - (
      select sum(s.share) from limits.slices s where s.bucket = w.bucket
    ), 0) as wanted
    from limits.wants w
    where w.process <> me
      and exists (select from limits.slices s where s.bucket = w.bucket and s.process = me)
    group by w.bucket limit 1000
  ) x where x.wanted > 0 into wanted_of_me;
  return json_build_object('known', was_known, 'alone', false, 'blocked', is_blocked, 'members', members,
    'given', given, 'wanted', wanted_of_me);
end
$$;
