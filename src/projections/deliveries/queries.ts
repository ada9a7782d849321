import type { Environment } from '../../domain/kernel/environment.ts';
import type { Database } from '../../lib/projections/projections.ts';

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

/** Recipients of a message in one domain that wait for another attempt. */
export interface DeferredMail {
  readonly messageId: string;
  /** A-labels. */
  readonly recipientDomain: string;
  readonly recipientIds: readonly string[];
  /** When the next attempt is due; ISO 8601. */
  readonly nextAttemptAt: string;
}

/** A probe of the primary key for each message. */
const DEFERRED = `
  select d.message_id, d.destination, d.due_at, d.recipients
  from read_models.deliveries d
  where d.message_id = any($1) and d.waiting = 'deferred'`;

interface DeferredRow {
  readonly message_id: string;
  readonly destination: string;
  readonly due_at: Date;
  readonly recipients: readonly { readonly id: string }[];
}

export interface DeferredQuery {
  /** Organization of the messages, whose share of the queries it uses. */
  readonly organizationId: string;
  readonly messageIds: readonly string[];
}

/** Mail of these messages that still waits after an attempt. */
export const deferredMail = async (db: Database, { messageIds }: DeferredQuery): Promise<readonly DeferredMail[]> => {
  const { rows } = await db.query<DeferredRow>({ name: 'deferred-mail', text: DEFERRED, values: [messageIds] });
  return rows.map(({ message_id, destination, due_at, recipients }) => ({
    messageId: message_id,
    recipientDomain: destination,
    recipientIds: recipients.map(({ id }) => id),
    nextAttemptAt: due_at.toISOString(),
  }));
};

/** Recipients of a message in one domain that wait for an attempt, or for the end of a lost one's lease. */
export interface DueDelivery {
  readonly messageId: string;
  /** Absent: the row is older than the column. */
  readonly organizationId?: string | undefined;
  /** A-labels. */
  readonly destination: string;
  readonly environment: Environment;
  /** ISO 8601. */
  readonly dueAt: string;
  /** When they expire; ISO 8601. */
  readonly expiresAt: string;
}

/** A row's place in due order. */
export type DuePlace = Pick<DueDelivery, 'dueAt' | 'messageId'>;

const COLUMNS = 'd.message_id, d.organization_id, d.destination, d.environment, d.due_at, d.expires_at';

/** Places behind which reading continues, by what is read in turn (mail flows or destinations). */
export type DuePlaces = ReadonlyMap<string, DuePlace>;

/**
 * Mail of one organization to one destination: the unit that takes turns. Sorts as destination and organization do. Rows
 * older than the organization column are one flow per destination.
 */
export const mailFlowOf = ({
  destination,
  organizationId = '',
}: Pick<DueDelivery, 'destination' | 'organizationId'>): string => `${destination} ${organizationId}`;

/** All mail flows of an organization, to be skipped. */
export const mailFlowsOf = (organizationId = ''): string => mailFlowOf({ destination: '', organizationId });

/** The keys of a JSON parameter, which are found in the time of an index. A join could change the order of the rows. */
const keysJson = (keys: readonly string[]): string => JSON.stringify(Object.fromEntries(keys.map((key) => [key, 0])));

/** The place for a key in a JSON parameter. */
const behindIn = (parameter: string, key: string): string =>
  `(coalesce((${parameter}::jsonb -> (${key}) ->> 0)::timestamptz, '-infinity'),
        coalesce(${parameter}::jsonb -> (${key}) ->> 1, ''))`;

/** The JSON parameter that `behindIn` reads. */
const behindJson = (places: DuePlaces): string =>
  JSON.stringify(Object.fromEntries([...places].map(([key, { dueAt, messageId }]) => [key, [dueAt, messageId]])));

/**
 * Mail flows one by one by their index (a loose scan: two probes per flow, 20 µs, however many rows it has), so that a
 * million rows of one organization block neither the next destination nor another organization at the same one.
 */
const DUE = `
  with recursive step as (
    (select destination, coalesce(organization_id, '') as organization from read_models.deliveries
     where (destination, coalesce(organization_id, '')) > (split_part($1, ' ', 1), split_part($1, ' ', 2))
     order by destination, coalesce(organization_id, '') limit 1)
    union all
    select next.destination, next.organization
    from step cross join lateral (
      select d.destination, coalesce(d.organization_id, '') as organization from read_models.deliveries d
      where (d.destination, coalesce(d.organization_id, '')) > (step.destination, step.organization)
      order by d.destination, coalesce(d.organization_id, '') limit 1
    ) next
  ), visited as (
    select destination, organization, destination || ' ' || organization as flow from step limit $2
  )
  select visited.flow as visited, ${COLUMNS}
  from visited
  left join lateral (
    select * from read_models.deliveries w
    where w.destination = visited.destination and coalesce(w.organization_id, '') = visited.organization
      and w.bulk = $3 and w.due_at <= $4
      and not $6::jsonb ? visited.flow and not $6::jsonb ? (' ' || visited.organization)
      and (w.due_at, w.message_id) > ${behindIn('$7', 'visited.flow')}
    order by w.due_at, w.message_id limit $5
  ) d on true
  limit $8`;

interface DueRow {
  readonly message_id: string;
  readonly organization_id: string | null;
  readonly destination: string;
  readonly environment: Environment;
  readonly due_at: Date;
  readonly expires_at: Date;
}

const shownDue = (row: DueRow): DueDelivery => ({
  messageId: row.message_id,
  organizationId: row.organization_id ?? undefined,
  destination: row.destination,
  environment: row.environment,
  dueAt: row.due_at.toISOString(),
  expiresAt: row.expires_at.toISOString(),
});

export interface DueQuery {
  readonly bulk: boolean;
  /** ISO 8601. */
  readonly before: string;
  /** End of the last page; empty: start with the first mail flow. */
  readonly after: string;
  /** Mail flows per page. */
  readonly flows: number;
  /** Rows of each mail flow. */
  readonly limit: number;
  /** More than the rows of the page, which shows mail flows as a whole. A mail flow without a due row uses one, too. */
  readonly total: number;
  /** Mail flows to skip. */
  readonly without: readonly string[];
  /** For these mail flows, only rows after the given place. */
  readonly behind?: DuePlaces;
}

export interface DuePage {
  readonly due: readonly DueDelivery[];
  /** For the next page; empty: this was the last. */
  readonly next: string;
}

/** Deliveries due at or before a time, of each mail flow in turn, longest overdue first. */
export const dueDeliveries = async (
  db: Database,
  { bulk, before, limit, total, after, flows, without, behind = new Map() }: DueQuery,
): Promise<DuePage> => {
  const { rows } = await db.query<DueRow & { readonly visited: string }>({
    name: 'due-deliveries',
    text: DUE,
    values: [after, flows, bulk, before, limit, keysJson(without), behindJson(behind), total],
  });
  const isFull = rows.length >= total;
  const cut = isFull ? rows.at(-1)?.visited : undefined;
  const whole = rows.filter((row) => row.visited !== cut);
  const isLast = !isFull && new Set(rows.map((row) => row.visited)).size < flows;
  return {
    due: whole.filter(({ message_id }) => message_id !== null).map(shownDue),
    next: isLast ? '' : (whole.at(-1)?.visited ?? ''),
  };
};

export interface HoldersQuery {
  /** End of the last page; empty: start with the first. */
  readonly after: string;
  readonly limit: number;
}

/** One by one by their index, so that a million rows of one do not block the next. */
const HOLDERS = `
  with recursive step as (
    (select held_by from read_models.deliveries where held_by > $1 order by held_by limit 1)
    union all
    select (select d.held_by from read_models.deliveries d where d.held_by > step.held_by order by d.held_by limit 1)
    from step where step.held_by is not null
  )
  select held_by as holder from step where held_by is not null limit $2`;

const HELD = `
  with recursive step as (
    (select destination from read_models.deliveries where held_by = $1 and destination > $2
     order by destination limit 1)
    union all
    select (select d.destination from read_models.deliveries d
            where d.held_by = $1 and d.destination > step.destination order by d.destination limit 1)
    from step where step.destination is not null
  ), visited as (select destination from step where destination is not null limit $3)
  select ${COLUMNS}
  from visited join lateral (
    select * from read_models.deliveries w
    where w.held_by = $1 and w.destination = visited.destination
      and (w.due_at, w.message_id) > ${behindIn('$6', 'visited.destination')}
    order by w.due_at, w.message_id limit $4
  ) d on true
  limit $5`;

/** Domains and organizations that hold mail, in the order of their ids. */
export const holdersOfMail = async (db: Database, { after, limit }: HoldersQuery): Promise<readonly string[]> => {
  const query = { name: 'holders-of-mail', text: HOLDERS, values: [after, limit] };
  return (await db.query<{ holder: string }>(query)).rows.map(({ holder }) => holder);
};

export interface HeldQuery {
  readonly holder: string;
  /** Destination where the last page ended; empty: from the first. */
  readonly after: string;
  /** Destinations of a page. */
  readonly destinations: number;
  /** Rows per destination. */
  readonly limit: number;
  /** Rows per page. */
  readonly total: number;
  /** Places after which reading continues, by destination. Absent: all destinations are read from the start. */
  readonly behind?: DuePlaces;
}

/**
 * Mail held by a domain or organization, destination by destination, so that a suspended destination does not block the
 * next.
 */
export const heldMail = async (
  db: Database,
  { holder, after, destinations, limit, total, behind = new Map() }: HeldQuery,
): Promise<DuePage> => {
  const values = [holder, after, destinations, limit, total, behindJson(behind)];
  const { rows } = await db.query<DueRow>({ name: 'held-mail', text: HELD, values });
  const visited = new Set(rows.map(({ destination }) => destination));
  const isLast = rows.length < total && visited.size < destinations;
  return { due: rows.map(shownDue), next: isLast ? '' : (rows.at(-1)?.destination ?? '') };
};
