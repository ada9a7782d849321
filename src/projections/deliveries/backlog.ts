import type { Database } from '../database.ts';

/** Why mail waits whose time has not come: as its sender asked, after an attempt, or as it is kept back. */
const WAIT_REASONS = ['scheduled', 'deferred', 'held'] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** Mail that waits now. What is counted is the recipients of a message in one domain, as one. */
export interface Backlog {
  /** By reason; `due`: its time has come. `BACKLOG_COUNTED_MAX` means so many or more. */
  readonly waiting: Readonly<Record<WaitReason | 'due', number>>;
  /** How long the oldest has been due, in seconds; 0: nothing is. */
  readonly oldestDueSeconds: number;
  /** Destinations that get nothing for a while. */
  readonly pausedDestinations: number;
}

/**
 * Of each reason, by its index alone: a tenth of a second at most. More costs a scrape that much each time, fewer says
 * "many" where it is known how many.
 */
export const BACKLOG_COUNTED_MAX = 100_000;

const countOf = (reason: WaitReason): string => `
  (select count(*)::int from (
    select from read_models.deliveries where waiting = '${reason}' and due_at > $1 limit $2) r) as ${reason}`;

/** Of either stream by its index; what is in hand is due when its lease ends, and not before. */
const BACKLOG = `
  select
    (select count(*)::int from (
      (select from read_models.deliveries where bulk = false and due_at <= $1 limit $2)
      union all
      (select from read_models.deliveries where bulk = true and due_at <= $1 limit $2) limit $2) r) as due,
    ${WAIT_REASONS.map(countOf).join(',')},
    least(
      (select min(due_at) from read_models.deliveries where bulk = false and due_at <= $1),
      (select min(due_at) from read_models.deliveries where bulk = true and due_at <= $1)) as oldest,
    (select count(*)::int from (
      select from read_models.destinations where suspended_until > $1 limit $2) r) as paused`;

interface Row extends Readonly<Record<WaitReason | 'due', number>> {
  readonly oldest: Date | null;
  readonly paused: number;
}

/** For whoever watches the service: of all organizations together. */
export const readBacklog = async (db: Database, now: Date): Promise<Backlog> => {
  const values = [now.toISOString(), BACKLOG_COUNTED_MAX];
  const { rows } = await db.query<Row>({ name: 'backlog', text: BACKLOG, values });
  const [{ due, scheduled, deferred, held, oldest, paused }] = rows as [Row]; // without `from` it is one row
  return {
    waiting: { due, scheduled, deferred, held },
    oldestDueSeconds: oldest === null ? 0 : (now.getTime() - oldest.getTime()) / 1000,
    pausedDestinations: paused,
  };
};
