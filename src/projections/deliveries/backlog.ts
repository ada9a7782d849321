import type { Database } from '../database.ts';

/** Why mail is not due yet: scheduled by its sender, deferred by an attempt, or held. */
const WAIT_REASONS = ['scheduled', 'deferred', 'held'] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** Waiting mail. All recipients of a message in one domain are one delivery. */
export interface Backlog {
  /** By reason. `BACKLOG_COUNTED_MAX` means that many or more. */
  readonly waiting: Readonly<Record<WaitReason | 'due', number>>;
  /** Seconds since the oldest became due; 0: nothing is due. */
  readonly oldestDueSeconds: number;
  /** Suspended destinations. */
  readonly suspendedDestinations: number;
}

/**
 * Counted per reason, by its index: 0.1 s at most. Higher makes scrapes slower, lower reports "many" too early.
 */
export const BACKLOG_COUNTED_MAX = 100_000;

const countOf = (reason: WaitReason): string => `
  (select count(*)::int from (
    select from read_models.deliveries where waiting = '${reason}' and due_at > $1 limit $2) r) as ${reason}`;

/** Each message class by its index. Mail in flight is due when its lease ends. */
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
      select from read_models.destinations where suspended_until > $1 limit $2) r) as suspended`;

interface Row extends Readonly<Record<WaitReason | 'due', number>> {
  readonly oldest: Date | null;
  readonly suspended: number;
}

/** The backlog of all organizations, for metrics. */
export const readBacklog = async (db: Database, now: Date): Promise<Backlog> => {
  const values = [now.toISOString(), BACKLOG_COUNTED_MAX];
  const { rows } = await db.query<Row>({ name: 'backlog', text: BACKLOG, values });
  const [{ due, scheduled, deferred, held, oldest, suspended }] = rows as [Row]; // without `from` it is one row
  return {
    waiting: { due, scheduled, deferred, held },
    oldestDueSeconds: oldest === null ? 0 : (now.getTime() - oldest.getTime()) / 1000,
    suspendedDestinations: suspended,
  };
};
