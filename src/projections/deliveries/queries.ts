import type { Environment } from '../../domain/kernel/environment.ts';
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

export interface AskDeferred {
  /** Organization of the messages, whose share of the queries it uses. */
  readonly organizationId: string;
  readonly messageIds: readonly string[];
}

/** Mail of these messages that still waits after an attempt. */
export const deferredMail = async (db: Database, { messageIds }: AskDeferred): Promise<readonly DeferredMail[]> => {
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

export interface AskDue {
  readonly bulk: boolean;
  /** ISO 8601. */
  readonly before: string;
  readonly limit: number;
  /** Only rows behind this one. Absent: from the longest overdue. */
  readonly behind?: DuePlace | undefined;
}

const COLUMNS = 'd.message_id, d.organization_id, d.destination, d.environment, d.due_at, d.expires_at';

const DUE = `
  select ${COLUMNS} from read_models.deliveries d
  where d.bulk = $1 and d.due_at <= $2 order by d.due_at, d.message_id limit $3`;

/** A statement of its own: planned for any place, the one above would sort all that is due. */
const DUE_BEHIND = `
  select ${COLUMNS} from read_models.deliveries d
  where d.bulk = $1 and d.due_at <= $2 and (d.due_at, d.message_id) > ($4::timestamptz, $5)
  order by d.due_at, d.message_id limit $3`;

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

/** The place for a key in a JSON parameter. A join could change the order in which keys are visited. */
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
const DUE_BY_FLOW = `
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
  left join unnest($6::text[]) as passed_over(flow) on passed_over.flow = visited.flow
  left join lateral (
    select * from read_models.deliveries w
    where w.destination = visited.destination and coalesce(w.organization_id, '') = visited.organization
      and w.bulk = $3 and w.due_at <= $4 and passed_over.flow is null
      and (w.due_at, w.message_id) > ${behindIn('$7', 'visited.flow')}
    order by w.due_at, w.message_id limit $5
  ) d on true`;

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

/** Deliveries due at or before this time, oldest first. */
export const dueDeliveries = async (
  db: Database,
  { bulk, before, limit, behind }: AskDue,
): Promise<readonly DueDelivery[]> => {
  const values = [bulk, before, limit];
  const { rows } = await db.query<DueRow>(
    behind === undefined
      ? { name: 'due-deliveries', text: DUE, values }
      : { name: 'due-deliveries-behind', text: DUE_BEHIND, values: [...values, behind.dueAt, behind.messageId] },
  );
  return rows.map(shownDue);
};

export interface AskDueByFlow extends Omit<AskDue, 'behind'> {
  /** End of the last page; empty: start with the first mail flow. */
  readonly after: string;
  /** Mail flows per page. */
  readonly flows: number;
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

/** The same for each mail flow in turn. @param ask `limit` is of each flow. */
export const dueByFlow = async (
  db: Database,
  { bulk, before, limit, after, flows, without, behind = new Map() }: AskDueByFlow,
): Promise<DuePage> => {
  const { rows } = await db.query<DueRow & { readonly visited: string }>({
    name: 'due-by-flow',
    text: DUE_BY_FLOW,
    values: [after, flows, bulk, before, limit, without, behindJson(behind)],
  });
  const visited = new Set(rows.map((row) => row.visited));
  const last = [...visited].sort().at(-1) ?? '';
  return {
    due: rows.filter(({ message_id }) => message_id !== null).map(shownDue),
    next: visited.size < flows ? '' : last,
  };
};

export interface AskHolders {
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
export const holdersOfMail = async (db: Database, { after, limit }: AskHolders): Promise<readonly string[]> => {
  const query = { name: 'holders-of-mail', text: HOLDERS, values: [after, limit] };
  return (await db.query<{ holder: string }>(query)).rows.map(({ holder }) => holder);
};

export interface AskHeld {
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
  { holder, after, destinations, limit, total, behind = new Map() }: AskHeld,
): Promise<DuePage> => {
  const values = [holder, after, destinations, limit, total, behindJson(behind)];
  const { rows } = await db.query<DueRow>({ name: 'held-mail', text: HELD, values });
  const visited = new Set(rows.map(({ destination }) => destination));
  const isLast = rows.length < total && visited.size < destinations;
  return { due: rows.map(shownDue), next: isLast ? '' : (rows.at(-1)?.destination ?? '') };
};
