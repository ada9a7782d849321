import type { Environment } from '../../domain/kernel/environment.ts';
import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { asRecords, type Database } from '../../lib/projections/projections.ts';
import { defineProjection, earlierMessages } from '../projection.ts';
import type { WaitReason } from './queries.ts';

/** A recipient without a final outcome. */
interface Open {
  readonly id: string;
  /** When its next attempt is due; null: an attempt is in flight. */
  readonly dueAt: string | null;
  /** End of the lease of the attempt in flight. */
  readonly until: string | null;
  /** Domain or organization whose release makes it due early. Absent: none. */
  readonly heldBy?: string;
  /** Why it waits until then. Absent: due at once, or an attempt is in flight. */
  readonly waiting?: WaitReason;
}

/** A message's recipients in one domain. */
interface Part {
  recipients: readonly Open[];
  /** It has a row. */
  readonly stored: boolean;
}

/** A message of the timetable. */
interface ScheduledMessage {
  /** null: its rows are older than the column. */
  readonly organizationId: string | null;
  readonly environment: Environment;
  readonly bulk: boolean;
  expiresAt: string;
  /** By domain. */
  readonly parts: Map<string, Part>;
}

type Changes = Map<string, ScheduledMessage>;

type EventOf<Type extends MessageEvent['type']> = RecordedEvent<Extract<MessageEvent, { readonly type: Type }>>;

const SELECT = `
  select message_id, organization_id, destination, environment, bulk, expires_at, recipients from deliveries where message_id = any($1)`;

const UPSERT = `
  insert into deliveries (message_id, organization_id, destination, environment, bulk, due_at, lease_until, held_by, waiting,
    expires_at, recipients)
  select "messageId", "organizationId", destination, environment, bulk, "dueAt", "leaseUntil", "heldBy", waiting, "expiresAt", recipients
  from json_to_recordset($1) as d("messageId" text, "organizationId" text, destination text, environment text, bulk boolean,
    "dueAt" timestamptz, "leaseUntil" timestamptz, "heldBy" text, waiting text, "expiresAt" timestamptz, recipients json)
  on conflict (message_id, destination) do update set due_at = excluded.due_at, lease_until = excluded.lease_until,
    held_by = excluded.held_by, waiting = excluded.waiting, expires_at = excluded.expires_at, recipients = excluded.recipients`;

const DELETE = `
  delete from deliveries d using unnest($1::text[], $2::text[]) as ended (message_id, destination)
  where d.message_id = ended.message_id and d.destination = ended.destination`;

interface Row {
  readonly message_id: string;
  readonly organization_id: string | null;
  readonly destination: string;
  readonly environment: Environment;
  readonly bulk: boolean;
  readonly expires_at: Date;
  readonly recipients: readonly Open[];
}

const begin = async (db: Database, events: readonly RecordedEvent[]): Promise<Changes> => {
  const messages: Changes = new Map();
  const ids = earlierMessages(events);
  if (ids.length === 0) return messages;
  const { rows } = await db.query<Row>({ name: 'select-deliveries', text: SELECT, values: [ids] });
  for (const row of rows) {
    const { message_id: id, organization_id: organizationId, destination, environment, bulk, recipients } = row;
    const expiresAt = row.expires_at.toISOString();
    const message = messages.get(id) ?? { organizationId, environment, bulk, expiresAt, parts: new Map() };
    message.parts.set(destination, { recipients, stored: true });
    messages.set(id, message);
  }
  return messages;
};

const accept = (messages: Changes, { data, metadata }: EventOf<'MessageAccepted'>): void => {
  const parts = new Map<string, Part>();
  for (const { id, domain } of data.recipients) {
    const before = parts.get(domain)?.recipients ?? [];
    parts.set(domain, { recipients: [...before, { id, dueAt: metadata.occurredAt, until: null }], stored: false });
  }
  messages.set(data.messageId, {
    organizationId: metadata.organizationId,
    environment: metadata.environment ?? 'live',
    bulk: data.stream === 'bulk',
    expiresAt: data.expiresAt,
    parts,
  });
};

/** Changes the due time or the attempt of recipients. A message without rows has ended. */
const change = (changes: Changes, messageId: string, ids: readonly string[], to: Omit<Open, 'id'>): void => {
  for (const part of changes.get(messageId)?.parts.values() ?? []) {
    part.recipients = part.recipients.map((one) => (ids.includes(one.id) ? { id: one.id, ...to } : one));
  }
};

const defer = (changes: Changes, messageId: string, ids: readonly string[], dueAt: string): void =>
  change(changes, messageId, ids, { dueAt, until: null, waiting: 'deferred' });

const schedule = (changes: Changes, { data }: EventOf<'MessageScheduled' | 'MessageRescheduled'>): void => {
  const { messageId, recipientIds, scheduledAt: dueAt } = data;
  change(changes, messageId, recipientIds, { dueAt, until: null, waiting: 'scheduled' });
  const message = changes.get(data.messageId);
  if (message !== undefined) message.expiresAt = data.expiresAt;
};

const hold = (changes: Changes, { data }: EventOf<'RecipientsHeld'>): void => {
  const { messageId, recipientIds, until: dueAt, heldBy } = data;
  change(changes, messageId, recipientIds, {
    dueAt,
    until: null,
    waiting: 'held',
    ...(heldBy === null ? {} : { heldBy }),
  });
  const message = changes.get(messageId);
  if (message !== undefined && data.expiresAt !== undefined) message.expiresAt = data.expiresAt;
};

const start = (changes: Changes, { data }: EventOf<'AttemptStarted'>): void =>
  change(changes, data.messageId, data.recipientIds, { dueAt: null, until: data.leaseUntil });

interface RecipientEnd {
  readonly data: { readonly messageId: string; readonly recipientId: string };
}

const end = (changes: Changes, { data }: RecipientEnd): void => {
  for (const part of changes.get(data.messageId)?.parts.values() ?? []) {
    part.recipients = part.recipients.filter(({ id }) => id !== data.recipientId);
  }
};

/** Due at the next attempt, or at the end of a lease. */
const rowOf = (
  messageId: string,
  { organizationId, environment, bulk, expiresAt }: ScheduledMessage,
  destination: string,
  recipients: readonly Open[],
): object => {
  const [dueAt = expiresAt] = recipients.flatMap(({ dueAt, until }) => dueAt ?? until ?? []).sort();
  const [leaseUntil = null] = recipients.flatMap(({ until }) => until ?? []).sort();
  const [heldBy = null] = recipients.flatMap((one) => one.heldBy ?? []);
  const [waiting = null] = recipients.flatMap((one) => one.waiting ?? []);
  const state = { dueAt, leaseUntil, heldBy, waiting, expiresAt, recipients };
  return { messageId, organizationId, destination, environment, bulk, ...state };
};

const write = async (db: Database, messages: Changes): Promise<void> => {
  const parts = [...messages].flatMap(([messageId, message]) =>
    [...message.parts].map(([destination, part]) => ({ messageId, message, destination, ...part })),
  );
  const open = parts.filter(({ recipients }) => recipients.length > 0);
  const ended = parts.filter(({ recipients, stored }) => recipients.length === 0 && stored);
  if (open.length > 0) {
    const rows = open.map((part) => rowOf(part.messageId, part.message, part.destination, part.recipients));
    await db.query({ name: 'upsert-deliveries', text: UPSERT, values: asRecords(rows) });
  }
  if (ended.length > 0) {
    const values = [ended.map(({ messageId }) => messageId), ended.map(({ destination }) => destination)];
    await db.query({ name: 'delete-deliveries', text: DELETE, values });
  }
};

export const deliveriesProjection = defineProjection<MessageEvent, Changes>({
  name: 'deliveries',
  version: 3,
  categories: ['message'],
  tables: ['deliveries'],
  // Most messages are delivered before they would have a row: the dispatch takes them from the log.
  urgent: ['MessageScheduled', 'MessageRescheduled', 'RecipientsHeld', 'AttemptOutcomeUnknown', 'RecipientDeferred'],
  handlers: {
    MessageAccepted: accept,
    MessageScheduled: schedule,
    MessageRescheduled: schedule,
    RecipientsHeld: hold,
    AttemptStarted: start,
    AttemptOutcomeUnknown: (changes, { data }) => defer(changes, data.messageId, data.recipientIds, data.nextAttemptAt),
    RecipientDelivered: end,
    RecipientDeferred: (changes, { data }) => defer(changes, data.messageId, [data.recipientId], data.nextAttemptAt),
    RecipientBounced: end,
    RecipientExpired: end,
    RecipientFailed: end,
    RecipientSuppressed: end,
    RecipientCancelled: end,
    RecipientOpened: 'ignored',
    RecipientClicked: 'ignored',
    RecipientComplained: 'ignored',
    RecipientReportNoted: 'ignored',
    RecipientsResent: 'ignored',
    RecipientUnsubscribed: 'ignored',
  },
  begin,
  write,
});
