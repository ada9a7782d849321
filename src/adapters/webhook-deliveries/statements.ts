/** A prepared statement: planned once per connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export const CHECKPOINT: Statement = {
  name: 'webhook_recording',
  text: 'select log_id as "logId", position from vault.webhook_recording',
};

/**
 * One statement is one transaction: the rows are stored only if the checkpoint was where the recorder expected it. A
 * stale process waits for the row's lock, sees the new position and changes nothing.
 */
export const RECORD: Statement = {
  name: 'record_webhook_deliveries',
  text: `
    with first as (
      insert into vault.webhook_recording (log_id, position)
      select $1, $3 where $2::text is null
      on conflict do nothing
      returning true as moved
    ), later as (
      update vault.webhook_recording set position = $3
      where log_id = $1 and position = $2::text
      returning true as moved
    ), moved as (
      select moved from first union all select moved from later
    ), owed as (
      insert into vault.webhook_deliveries (id, webhook_id, event, due_at, created_at)
      select id, webhook_id, event::json, $7::timestamptz, $7::timestamptz
      from unnest($4::text[], $5::text[], $6::text[]) as new (id, webhook_id, event)
      where exists (select from moved)
      on conflict (id) do nothing
    ), owed_later as (
      insert into vault.webhook_owed_events (organization_id, events, webhook_ids)
      select organization_id, events::json, string_to_array(webhook_ids, ',')
      from unnest($8::text[], $9::text[], $10::text[]) as later (organization_id, events, webhook_ids)
      where exists (select from moved)
    )
    select exists (select from moved) as moved`,
};

/** Finds the next organization with one probe of the index, and starts over after the last. */
export const OWED_EVENTS: Statement = {
  name: 'webhook_owed_events',
  text: `
    select number, organization_id, events, webhook_ids, made from vault.webhook_owed_events
    where organization_id = coalesce(
      (select min(organization_id) from vault.webhook_owed_events where organization_id > $1),
      (select min(organization_id) from vault.webhook_owed_events))
    order by number
    limit 1`,
};

/** If two processes distribute the same events, the second finds the deliveries already made, and stores nothing. */
export const DISTRIBUTE: Statement = {
  name: 'distribute_webhook_events',
  text: `
    with ended as (
      delete from vault.webhook_owed_events where number = $1 and made = $2 and $3 returning number
    ), moved as (
      update vault.webhook_owed_events set made = made + cardinality($4::text[])
      where number = $1 and made = $2 and not $3
      returning number
    )
    insert into vault.webhook_deliveries (id, webhook_id, event, due_at, created_at)
    select id, webhook_id, event::json, $7::timestamptz, $7::timestamptz
    from unnest($4::text[], $5::text[], $6::text[]) as new (id, webhook_id, event)
    where exists (select from ended) or exists (select from moved)
    on conflict (id) do nothing`,
};

/** `limit` per endpoint through a lateral join: each probe reads the start of its own part of the index. */
export const CLAIM: Statement = {
  name: 'claim_webhook_deliveries',
  text: `
    with due as (
      select delivery.id
      from unnest($1::text[], $2::integer[]) as wanted (webhook_id, free)
      cross join lateral (
        select id from vault.webhook_deliveries
        where webhook_id = wanted.webhook_id and state = 'pending' and due_at <= $3
        order by due_at
        limit wanted.free
        for update skip locked
      ) as delivery
    )
    update vault.webhook_deliveries as delivery set due_at = $4
    from due where delivery.id = due.id
    returning delivery.id, delivery.webhook_id, delivery.event, delivery.attempts, delivery.replay_id`,
};

export const RELEASE: Statement = {
  name: 'release_webhook_deliveries',
  text: `update vault.webhook_deliveries set due_at = $2 where id = any($1::text[]) and state = 'pending'`,
};

/** A process that lost its lease midway may report after another one. A delivery that has ended stays ended. */
export const FINISH: Statement = {
  name: 'finish_webhook_tries',
  text: `
    with finished as (
      select * from unnest(
        $1::text[], $2::integer[], $3::timestamptz[], $4::integer[], $5::integer[], $6::text[], $7::text[], $8::timestamptz[],
        $9::text[], $10::text[], $11::integer[], $12::bytea[]
      ) as try (delivery_id, attempt, at, status, duration_ms, answer, state, due_at, url, header_names, body_bytes,
        body_sha256)
    ), tried as (
      insert into vault.webhook_tries
        (delivery_id, attempt, at, status, duration_ms, answer, url, header_names, body_bytes, body_sha256)
      select delivery_id, attempt, at, status, duration_ms, answer, url, header_names, body_bytes, body_sha256
      from finished
      on conflict do nothing
    ), endpoint as (
      select webhook_id, bool_or(finished.state = 'delivered') as took, min(finished.at) as at
      from finished join vault.webhook_deliveries as delivery on delivery.id = finished.delivery_id
      group by webhook_id
    ), well as (
      delete from vault.webhook_failures where webhook_id in (select webhook_id from endpoint where took)
    ), failing as (
      insert into vault.webhook_failures (webhook_id, since)
      select webhook_id, at from endpoint where not took order by webhook_id
      on conflict do nothing
    )
    update vault.webhook_deliveries as delivery
    set state = finished.state, attempts = greatest(delivery.attempts, finished.attempt), due_at = finished.due_at
    from finished
    where delivery.id = finished.delivery_id and delivery.state = 'pending'`,
};

export const FAILING_SINCE: Statement = {
  name: 'webhook_failing_since',
  text: 'select webhook_id, since from vault.webhook_failures where webhook_id = any($1::text[])',
};

export const WAITING_SINCE: Statement = {
  name: 'webhook_waiting_since',
  text: `
    select wanted.id as webhook_id, oldest.created_at as since
    from unnest($1::text[]) as wanted (id)
    cross join lateral (
      select created_at from vault.webhook_deliveries
      where webhook_id = wanted.id and state = 'pending'
      order by number
      limit 1
    ) as oldest`,
};

const COLUMNS = 'id, number, webhook_id, event, state, attempts, due_at, created_at, replay_id';

/** Adds every try of each delivery in the query's `delivery`. */
const WITH_TRIES = `
    cross join lateral (
      select json_agg(json_build_object('at', at, 'status', status, 'duration_ms', duration_ms, 'answer', answer,
        'url', url, 'header_names', header_names, 'body_bytes', body_bytes,
        'body_sha256', encode(body_sha256, 'hex')) order by attempt) as all
      from vault.webhook_tries where delivery_id = delivery.id
    ) as tries
    order by delivery.number desc`;

/**
 * The filters apply to rows that the index has found: neither is worth an index that every delivery pays for. The type
 * is searched in the text, since JSON with an escaped NUL cannot be parsed.
 */
export const LIST: Statement = {
  name: 'list_webhook_deliveries',
  text: `
    select delivery.*, coalesce(tries.all, '[]'::json) as tries
    from (
      select * from (
        select ${COLUMNS} from vault.webhook_deliveries
        where webhook_id = $1 and ($2::bigint is null or number < $2)
        order by number desc
        limit $4
      ) as scanned
      where ($5::text is null or state = $5
          or ($5 = 'failing' and (state = 'failed' or (state = 'pending' and attempts > 0))))
        and ($6::text is null or strpos(event::text, '"type":"' || $6 || '"') > 0)
      order by number desc
      limit $3
    ) as delivery
    ${WITH_TRIES}`,
};

/** End of a page that has scanned as many rows as it may. */
export const SCAN_END: Statement = {
  name: 'end_of_webhook_deliveries',
  text: `
    select number from vault.webhook_deliveries
    where webhook_id = $1 and ($2::bigint is null or number < $2)
    order by number desc
    offset $3 limit 1`,
};

export const RESEND: Statement = {
  name: 'resend_webhook_delivery',
  text: `update vault.webhook_deliveries set state = 'pending', due_at = $2 where id = $1`,
};

/** By primary key: callers that know the endpoints and events know the ids, so no index by event is needed. */
export const FIND: Statement = {
  name: 'find_webhook_deliveries',
  text: `
    select delivery.*, coalesce(tries.all, '[]'::json) as tries
    from (
      select ${COLUMNS} from vault.webhook_deliveries
      where id = any($1::text[])
      order by number desc
      limit $2
    ) as delivery
    ${WITH_TRIES}`,
};

export const START_REPLAY: Statement = {
  name: 'start_webhook_replay',
  text: `
    insert into vault.webhook_replays
      (id, webhook_id, since, until, place_position, place_index, up_to, created_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict (webhook_id) where state = 'running' do nothing
    returning id`,
};

/** Adds the number of deliveries in each state to the replays in the query's `replay`. */
const WITH_COUNTS = `
    cross join lateral (
      select count(*) filter (where state = 'pending')::integer as pending,
        count(*) filter (where state = 'delivered')::integer as delivered,
        count(*) filter (where state = 'failed')::integer as failed
      from vault.webhook_deliveries where replay_id = replay.id
    ) as counts`;

export const FIND_REPLAY: Statement = {
  name: 'find_webhook_replay',
  text: `select replay.*, counts.* from vault.webhook_replays as replay ${WITH_COUNTS} where id = $1`,
};

export const LIST_REPLAYS: Statement = {
  name: 'list_webhook_replays',
  text: `
    select replay.*, counts.* from (
      select * from vault.webhook_replays
      where webhook_id = $1 and ($2::bigint is null or number < $2)
      order by number desc
      limit $3
    ) as replay ${WITH_COUNTS}
    order by replay.number desc`,
};

export const RUNNING_REPLAYS: Statement = {
  name: 'running_webhook_replays',
  text: `select * from vault.webhook_replays where state = 'running' and number > $2 order by number limit $1`,
};

/** Like `RECORD`: the rows are stored only if the position was where the replayer expected it. */
export const ADVANCE_REPLAY: Statement = {
  name: 'advance_webhook_replay',
  text: `
    with moved as (
      update vault.webhook_replays
      set place_position = $4, place_index = $5, state = case when $6 then 'completed' else state end,
        ended_at = case when $6 then $7::timestamptz end
      where id = $1 and place_position = $2 and place_index = $3 and state = 'running'
      returning id
    ), owed as (
      insert into vault.webhook_deliveries (id, webhook_id, event, due_at, created_at, replay_id)
      select new.id, new.webhook_id, new.event::json, $7, $7, $1
      from unnest($8::text[], $9::text[], $10::text[]) as new (id, webhook_id, event)
      where exists (select from moved)
      on conflict (id) do nothing
    )
    select exists (select from moved) as moved`,
};

export const CANCEL_REPLAY: Statement = {
  name: 'cancel_webhook_replay',
  text: `update vault.webhook_replays set state = 'cancelled', ended_at = $2 where id = $1 and state = 'running'`,
};

/** A separate statement: it must see deliveries that were stored just before the replay was cancelled. */
export const DROP_UNTRIED: Statement = {
  name: 'drop_untried_webhook_deliveries',
  text: `delete from vault.webhook_deliveries where replay_id = $1 and state = 'pending' and attempts = 0`,
};

export const PENDING_OF: Statement = {
  name: 'pending_webhook_deliveries',
  text: `
    select count(*)::integer as count from (
      select from vault.webhook_deliveries where webhook_id = $1 and state = 'pending' limit $2
    ) as pending`,
};
