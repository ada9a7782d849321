import { setTimeout as sleep } from 'node:timers/promises';
import { openObserver } from '../harness/observer.ts';
import type { Stage } from './stage.ts';

interface Timetable {
  /** Accepted messages that the read models know. */
  readonly known: number;
  readonly open: number;
  /** In hand, or due before long. */
  readonly busy: number;
  /** Of what waits for its time, the last (milliseconds since the epoch). */
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
/** What is due within this time is waited for. */
const SOON_MS = 2_000;
/** The timetable must stand still for so many looks: it is a little behind, and a jump must not meet a lease. */
const QUIET_LOOKS = 10;
/** How long work in flight may take before the rest is the oracle's. */
const PATIENCE_MS = 60_000;

const isOver = ({ known, open }: Timetable, accepted: number): boolean => known === accepted && open === 0;
const onlyWaits = ({ open, busy }: Timetable): boolean => open > 0 && busy === 0;
const isSame = (one: Timetable, other: Timetable): boolean => one.open === other.open && one.last === other.last;

/**
 * Waits until nothing is left to be sent or posted. Where all that is left waits for a retry's time, the programs' clock
 * jumps there: never while an attempt is in flight, whose lease would end with that.
 * @returns whether nothing is left.
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
