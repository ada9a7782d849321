import { setTimeout as sleep } from 'node:timers/promises';
import { openObserver } from '../harness/observer.ts';
import type { Stage } from './stage.ts';

interface Timetable {
  /** Number of accepted messages in the read models. */
  readonly known: number;
  readonly open: number;
  /** Number of items in flight or due soon. */
  readonly busy: number;
  /** When the last pending item is due, Unix time in milliseconds. */
  readonly last: number;
}

const TIMETABLE = `
  with waiting (due_at, in_hand) as (
    select due_at, lease_until is not null from read_models.deliveries
    union all select due_at, false from vault.webhook_deliveries where state = 'pending')
  select (select count(*)::int from read_models.messages where message_id = any($1)) as known,
    count(*)::int as open,
    count(*) filter (where in_hand or due_at < $2)::int as busy,
    coalesce(extract(epoch from max(due_at)) * 1000, 0)::float8 as last
  from waiting`;

const LOOK_MS = 200;
/** Items due within this time are waited for instead of jumping. */
const SOON_MS = 2_000;
/** Number of unchanged looks before a jump. The timetable lags a little, and a jump during a lease would end it. */
const QUIET_LOOKS = 10;
/** Maximum wait for work in flight. After that the oracle judges what is there. */
const PATIENCE_MS = 60_000;

const isOver = ({ known, open }: Timetable, accepted: number): boolean => known === accepted && open === 0;
const onlyWaits = ({ open, busy }: Timetable): boolean => open > 0 && busy === 0;
const isSame = (one: Timetable, other: Timetable): boolean => one.open === other.open && one.last === other.last;

/**
 * Waits until nothing remains to be sent or posted. If everything left waits for a retry, the programs' clock jumps to
 * it. It never jumps during an attempt, whose lease would expire.
 * @returns true if nothing remains.
 */
export const letTimePass = async ({ world, clock }: Stage): Promise<boolean> => {
  const { pool, close } = await openObserver(world);
  const ids = world.load.accepted.map(({ id }) => id);
  const look = async (): Promise<Timetable> => {
    const { rows } = await pool.query<Timetable>(TIMETABLE, [ids, new Date(clock.now() + SOON_MS)]);
    return rows[0] ?? { known: 0, open: 0, busy: 0, last: 0 };
  };
  const endMs = performance.now() + PATIENCE_MS;
  try {
    let found = await look();
    let quiet = 0;
    while (!isOver(found, ids.length) && performance.now() < endMs) {
      if (quiet >= QUIET_LOOKS) await clock.jump(found.last - clock.now() + LOOK_MS);
      await sleep(LOOK_MS);
      const next = await look();
      quiet = onlyWaits(next) && isSame(next, found) ? quiet + 1 : 0;
      found = next;
    }
    return isOver(found, ids.length);
  } finally {
    await close();
  }
};
