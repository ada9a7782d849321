import type { Environment } from '../../domain/environment.ts';
import type { RecordedEvent } from '../../domain/event-store.ts';
import type { MessageEvent } from '../../domain/events.ts';
import { asRecords, type Database } from '../database.ts';
import { earlierMessages } from '../earlier-messages.ts';
import { defineProjection } from '../projection.ts';

/** A recipient that is not settled. */
interface Open {
  readonly id: string;
  /** When its next attempt is due; null: an attempt is in hand. */
  readonly dueAt: string | null;
}

/** A message as the timetable knows it. */
interface Scheduled {
  readonly route: Environment;
  expiresAt: string;
  recipients: readonly Open[];
  leaseUntil: string | null;
}

interface Changes {
  readonly messages: Map<string, Scheduled>;
  /** Ids of messages that have a row. */
  readonly stored: ReadonlySet<string>;
}

type EventOf<Type extends MessageEvent['type']> = RecordedEvent<Extract<MessageEvent, { readonly type: Type }>>;

const SELECT = `
  select message_id, route, expires_at, lease_until, recipients from deliveries where message_id = any($1)`;

const UPSERT = `
  insert into deliveries (message_id, route, state, due_at, lease_until, expires_at, recipients)
  select "messageId", route, state, "dueAt", "leaseUntil", "expiresAt", recipients
  from json_to_recordset($1) as d("messageId" text, route text, state text, "dueAt" timestamptz,
    "leaseUntil" timestamptz, "expiresAt" timestamptz, recipients json)
  on conflict (message_id) do update set state = excluded.state, due_at = excluded.due_at,
    lease_until = excluded.lease_until, expires_at = excluded.expires_at, recipients = excluded.recipients`;

const DELETE = 'delete from deliveries where message_id = any($1)';

interface Row {
  readonly message_id: string;
  readonly route: Environment;
  readonly expires_at: Date;
  readonly lease_until: Date | null;
  readonly recipients: readonly Open[];
}

const begin = async (db: Database, events: readonly RecordedEvent[]): Promise<Changes> => {
  const ids = earlierMessages(events);
  if (ids.length === 0) return { messages: new Map(), stored: new Set() };
  const { rows } = await db.query<Row>({ name: 'select-deliveries', text: SELECT, values: [ids] });
  const messages = new Map(
    rows.map(({ message_id, route, expires_at, lease_until, recipients }) => [
      message_id,
      { route, expiresAt: expires_at.toISOString(), leaseUntil: lease_until?.toISOString() ?? null, recipients },
    ]),
  );
  return { messages, stored: new Set(messages.keys()) };
};

const accept = ({ messages }: Changes, { data, metadata }: EventOf<'MessageAccepted'>): void => {
  messages.set(data.messageId, {
    route: metadata.environment ?? 'live',
    expiresAt: data.expiresAt,
    recipients: data.recipients.map(({ id }) => ({ id, dueAt: metadata.occurredAt })),
    leaseUntil: null,
  });
};

/** Gives recipients another due time; the lease ends when none is in hand any more. A message without a row has ended. */
const reschedule = (changes: Changes, messageId: string, ids: readonly string[], dueAt: string | null): void => {
  const message = changes.messages.get(messageId);
  if (message === undefined) return;
  message.recipients = message.recipients.map((one) => (ids.includes(one.id) ? { id: one.id, dueAt } : one));
  release(message);
};

const release = (message: Scheduled): void => {
  if (message.recipients.every(({ dueAt }) => dueAt !== null)) message.leaseUntil = null;
};

const schedule = (changes: Changes, { data }: EventOf<'MessageScheduled' | 'MessageRescheduled'>): void => {
  reschedule(changes, data.messageId, data.recipientIds, data.scheduledAt);
  const message = changes.messages.get(data.messageId);
  if (message !== undefined) message.expiresAt = data.expiresAt;
};

const start = (changes: Changes, { data }: EventOf<'AttemptStarted'>): void => {
  reschedule(changes, data.messageId, data.recipientIds, null);
  const message = changes.messages.get(data.messageId);
  if (message !== undefined) message.leaseUntil = data.leaseUntil;
};

interface Ending {
  readonly data: { readonly messageId: string; readonly recipientId: string };
}

const end = ({ messages }: Changes, { data }: Ending): void => {
  const message = messages.get(data.messageId);
  if (message === undefined) return;
  message.recipients = message.recipients.filter(({ id }) => id !== data.recipientId);
  release(message);
};

const rowOf = (messageId: string, { route, expiresAt, leaseUntil, recipients }: Scheduled): object => {
  const [earliest] = recipients.flatMap(({ dueAt }) => dueAt ?? []).sort();
  const state = leaseUntil === null ? 'waiting' : 'leased';
  return { messageId, route, state, dueAt: leaseUntil ?? earliest ?? expiresAt, leaseUntil, expiresAt, recipients };
};

const write = async (db: Database, { messages, stored }: Changes): Promise<void> => {
  const open = [...messages].filter(([, { recipients }]) => recipients.length > 0);
  const ended = [...messages].flatMap(([id, { recipients }]) =>
    recipients.length === 0 && stored.has(id) ? [id] : [],
  );
  if (open.length > 0) {
    const rows = open.map(([messageId, message]) => rowOf(messageId, message));
    await db.query({ name: 'upsert-deliveries', text: UPSERT, values: asRecords(rows) });
  }
  if (ended.length > 0) await db.query({ name: 'delete-deliveries', text: DELETE, values: [ended] });
};

export const deliveriesProjection = defineProjection<MessageEvent, Changes>({
  name: 'deliveries',
  version: 1,
  categories: ['message'],
  tables: ['deliveries'],
  handlers: {
    MessageAccepted: accept,
    MessageScheduled: schedule,
    MessageRescheduled: schedule,
    AttemptStarted: start,
    AttemptOutcomeUnknown: (changes, { data }) =>
      reschedule(changes, data.messageId, data.recipientIds, data.nextAttemptAt),
    RecipientDelivered: end,
    RecipientDeferred: (changes, { data }) =>
      reschedule(changes, data.messageId, [data.recipientId], data.nextAttemptAt),
    RecipientBounced: end,
    RecipientExpired: end,
    RecipientFailed: end,
    RecipientSuppressed: end,
    RecipientCancelled: end,
    RecipientComplained: 'ignored',
    RecipientUnsubscribed: 'ignored',
  },
  begin,
  write,
});
