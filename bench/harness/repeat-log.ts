import type { Pool } from 'pg';

/** Copies message lives under new ids and times. `translate` replaces hex digits that the alphabet of ids lacks. */
const REPEAT = `
  with copies as (
    select e, k, substring(e.stream from 'msg_.{10}')
      || substr(translate(md5(substring(e.stream from 'msg_.*') || k), '0189', 'wxyz'), 1, 16) as id
    from event_log.events e, generate_series($2::int, $3::int) k where (e).position <= $1
  )
  insert into event_log.events
  select (e).position + k * $1, regexp_replace((e).stream, 'msg_[a-z2-7]{26}', id), (e).revision, gen_random_uuid(),
    (e).type, (e).category, regexp_replace((e).data, 'msg_[a-z2-7]{26}', id, 'g'), (e).metadata
  from copies`;
/** Maximum number of copies per statement. */
const REPEATS_MAX = 10;

/** Repeats the messages of a log until it holds about this many events. */
export const repeatLog = async (pool: Pool, events: number): Promise<void> => {
  const { rows } = await pool.query<{ count: number }>('select max(position)::int as count from event_log.events');
  const count = rows[0]?.count ?? 1;
  const repeats = Math.ceil(events / count) - 1;
  for (let from = 1; from <= repeats; from += REPEATS_MAX) {
    await pool.query(REPEAT, [count, from, Math.min(repeats, from + REPEATS_MAX - 1)]);
  }
};
