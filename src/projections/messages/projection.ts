import { dayOf } from '../../domain/kernel/event.ts';
import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { messageStatus } from '../../domain/message/message.ts';
import { asRecords, type Database, rowsInto } from '../../lib/projections/projections.ts';
import { defineProjection, earlierMessages, known } from '../projection.ts';
import { isKept, labelledOutcome, type OutcomeTimes, type StoredRecipient, type TimedOutcome } from './outcomes.ts';
import {
  type AcceptedMessage,
  insertLabels,
  type Label,
  labelOf,
  labelsOfAcceptance,
  labelsOfRefusal,
  type RefusalEvent,
  refusalOf,
  repeatedKey,
} from './queries.ts';

/** Counts of messages sent with each secret of a key, by UTC day. They stay when messages are erased or expire. */

type AcceptedEvent = RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>;

interface DayOfSends {
  readonly keyId: string;
  readonly secret: number;
  readonly day: string;
  messages: number;
  recipients: number;
  firstAt: string;
  lastAt: string;
}

/** Times do not rise with the log: the processes that accept mail have clocks of their own. */
const daysOf = (accepted: readonly AcceptedEvent[]): readonly DayOfSends[] => {
  const days = new Map<string, DayOfSends>();
  for (const { data, metadata } of accepted) {
    const { secret, occurredAt: at } = metadata;
    if (secret === undefined) continue; // no key sent it
    const { keyId } = data;
    const day = dayOf(at);
    const place = `${keyId} ${secret} ${day}`;
    const entry = days.get(place) ?? { keyId, secret, day, messages: 0, recipients: 0, firstAt: at, lastAt: at };
    entry.messages += 1;
    entry.recipients += data.recipients.length;
    if (at < entry.firstAt) entry.firstAt = at;
    if (at > entry.lastAt) entry.lastAt = at;
    days.set(place, entry);
  }
  return [...days.values()];
};

const ADD_SENDS = `
  insert into key_sends as k (key_id, secret, day, messages, recipients, first_at, last_at)
  select "keyId", secret, day, messages, recipients, "firstAt", "lastAt"
  from json_to_recordset($1) as d("keyId" text, secret integer, day date, messages integer, recipients integer,
    "firstAt" timestamptz, "lastAt" timestamptz)
  on conflict (key_id, secret, day) do update set messages = k.messages + excluded.messages,
    recipients = k.recipients + excluded.recipients, first_at = least(k.first_at, excluded.first_at),
    last_at = greatest(k.last_at, excluded.last_at)`;

/** Counts messages that were accepted. One statement, however many there are. */
const addKeySends = async (db: Database, accepted: readonly AcceptedEvent[]): Promise<void> => {
  const days = daysOf(accepted);
  if (days.length > 0) await db.query({ name: 'add-key-sends', text: ADD_SENDS, values: asRecords(days) });
};

export interface SecretSends {
  /** Number of the secret. */
  readonly secret: number;
  readonly messages: number;
  readonly recipients: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

export interface AskKeySends {
  /** Organization of the key, whose share of the queries it uses. */
  readonly organizationId: string;
  readonly keyId: string;
  /** Numbers of secrets, both included. */
  readonly from: number;
  readonly to: number;
}

const SENDS = `
  select secret, sum(messages)::float8 as messages, sum(recipients)::float8 as recipients, min(first_at) as "firstAt",
    max(last_at) as "lastAt"
  from read_models.key_sends where key_id = $1 and secret between $2 and $3
  group by secret`;

/** By secret, of those that sent anything. */
export const keySends = async (
  db: Database,
  { keyId, from, to }: AskKeySends,
): Promise<ReadonlyMap<number, SecretSends>> => {
  const { rows } = await db.query<SecretSends>({ name: 'key-sends', text: SENDS, values: [keyId, from, to] });
  return new Map(rows.map((row) => [row.secret, row]));
};

/** A message that this batch changes. */
interface ChangedMessage {
  /** The event, where it is of this batch: the row is then inserted as the batch leaves it. */
  readonly accepted: AcceptedMessage | null;
  recipients: readonly StoredRecipient[];
  expiresAt: string;
  scheduledAt: string | null;
  updatedAt: string | null;
  readonly createdAt: string;
  /** Labels added by this batch, other than those from its acceptance. */
  readonly further: Label[];
}

type Changes = Map<string, ChangedMessage>;

interface StoredMessage {
  readonly message_id: string;
  readonly created_at: Date;
  readonly recipients: readonly StoredRecipient[];
  readonly expires_at: Date;
  readonly scheduled_at: Date | null;
}

const begin = async (db: Database, events: readonly RecordedEvent[]): Promise<Changes> => {
  const ids = earlierMessages(events);
  if (ids.length === 0) return new Map();
  const { rows } = await db.query<StoredMessage>({
    name: 'message-recipients',
    text: SELECT_RECIPIENTS,
    values: [ids],
  });
  return new Map(
    rows.map(({ message_id, recipients, expires_at, scheduled_at, created_at }) => {
      const times = { expiresAt: expires_at.toISOString(), scheduledAt: scheduled_at?.toISOString() ?? null };
      const createdAt = created_at.toISOString();
      return [message_id, { accepted: null, recipients, ...times, updatedAt: null, createdAt, further: [] }];
    }),
  );
};

const accept = (changes: Changes, event: AcceptedMessage): void => {
  const { messageId, recipients } = event.data;
  changes.set(messageId, {
    accepted: event,
    recipients: recipients.map(({ id, kind, domain }) => ({
      id,
      kind,
      domain,
      status: 'accepted',
      ...(event.data.trial === true && { trial: true }),
    })),
    expiresAt: event.data.expiresAt,
    scheduledAt: null,
    updatedAt: event.metadata.occurredAt,
    createdAt: event.metadata.occurredAt,
    further: [],
  });
};

interface RecipientEvent {
  readonly data: { readonly messageId: string } & (
    | { readonly recipientId: string }
    | { readonly recipientIds: readonly string[] }
  );
  readonly metadata: { readonly occurredAt: string };
}

/** Handler that gives the recipients an event concerns these values. */
const set =
  (values: Partial<StoredRecipient>) =>
  (changes: Changes, { data, metadata }: RecipientEvent): void => {
    const message = known(changes, data.messageId);
    const ids = 'recipientIds' in data ? data.recipientIds : [data.recipientId];
    message.recipients = message.recipients.map((one) => (ids.includes(one.id) ? { ...one, ...values } : one));
    message.updatedAt = metadata.occurredAt;
  };

type OutcomeEvent = RecordedEvent<Extract<MessageEvent, { readonly type: RecipientEventType }>>;
type RecipientEventType = {
  [E in MessageEvent as E['type']]: E extends { readonly data: RecipientEvent['data'] } ? E['type'] : never;
}[MessageEvent['type']];

/** Notes an outcome of the recipients an event concerns. The message gets labels of the outcome and its time, each once. */
const note = (changes: Changes, event: OutcomeEvent, outcome: TimedOutcome): void => {
  const { messageId } = event.data;
  const { occurredAt } = event.metadata;
  const message = known(changes, messageId);
  const ids = 'recipientIds' in event.data ? event.data.recipientIds : [event.data.recipientId];
  const noted = ({ outcomes }: StoredRecipient): number | undefined => outcomes?.[outcome];
  const further = message.recipients.filter(
    (one) => ids.includes(one.id) && !(isKept(outcome) && noted(one) !== undefined),
  );
  if (further.length === 0) return;
  const time = Date.parse(occurredAt) - Date.parse(message.createdAt);
  const label = (kind: 'outcome' | 'outcome_at', createdAt: string) =>
    message.further.push({ key: repeatedKey(event.metadata, labelOf(kind, outcome)), createdAt, messageId });
  if (labelledOutcome(outcome) !== null && message.recipients.every((one) => noted(one) === undefined))
    label('outcome', message.createdAt);
  if (message.recipients.every((one) => noted(one) !== time)) label('outcome_at', occurredAt);
  const outcomesOf = ({ outcomes }: StoredRecipient): OutcomeTimes => ({ ...outcomes, [outcome]: time });
  message.recipients = message.recipients.map((one) =>
    further.includes(one) ? { ...one, outcomes: outcomesOf(one) } : one,
  );
  message.updatedAt = occurredAt;
};

/** Handler that notes an outcome and sets values. */
const outcome =
  (name: TimedOutcome, values: Partial<StoredRecipient>) =>
  (changes: Changes, event: OutcomeEvent): void => {
    note(changes, event, name);
    set(values)(changes, event);
  };

/** Handler of a refusal. */
const refused =
  (status: 'deferred' | 'bounced') =>
  (changes: Changes, event: RefusalEvent): void => {
    const { messageId, recipientId } = event.data;
    const message = known(changes, messageId);
    message.further.push(...labelsOfRefusal(event, message));
    note(changes, event, status);
    const { codes, bounceClass } = refusalOf(event);
    const before = message.recipients.find(({ id }) => id === recipientId)?.codes ?? [];
    const all = [...new Set([...before, ...codes])];
    set({
      status,
      ...(all.length === 0 ? {} : { codes: all }),
      ...(bounceClass === null ? {} : { bounceClass }),
    })(changes, event);
  };

/** Marks what a person did. What machines did is noted only as an outcome. */
const engaged =
  (what: 'opened' | 'clicked') =>
  (
    changes: Changes,
    event: RecordedEvent<Extract<MessageEvent, { readonly type: 'RecipientOpened' | 'RecipientClicked' }>>,
  ): void => {
    const { machine, first } = event.data;
    note(changes, event, machine === undefined ? what : `machine_${what}`);
    if (machine === undefined && first === true) set({ [what]: true })(changes, event);
  };

const schedule = (
  changes: Changes,
  event: RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageScheduled' | 'MessageRescheduled' }>>,
): void => {
  const { messageId, scheduledAt, expiresAt } = event.data;
  set({ status: 'scheduled' })(changes, event);
  Object.assign(known(changes, messageId), { scheduledAt, expiresAt });
};

const hold = (
  changes: Changes,
  event: RecordedEvent<Extract<MessageEvent, { readonly type: 'RecipientsHeld' }>>,
): void => {
  const { messageId, expiresAt } = event.data;
  if (expiresAt === undefined) return;
  set({})(changes, event);
  known(changes, messageId).expiresAt = expiresAt;
};

const currentState = ({ recipients, expiresAt, scheduledAt, updatedAt }: ChangedMessage) => ({
  recipients,
  expiresAt,
  scheduledAt,
  updatedAt,
  ...messageStatus(recipients),
});

const inserted = (accepted: AcceptedMessage, changed: ChangedMessage) => ({
  messageId: accepted.data.messageId,
  organizationId: accepted.metadata.organizationId,
  environment: accepted.metadata.environment,
  domainId: accepted.data.domainId,
  keyId: accepted.data.keyId,
  contentId: accepted.data.contentId,
  internetMessageId: accepted.data.internetMessageId,
  stream: accepted.data.stream,
  sizeBytes: accepted.data.sizeBytes,
  template: accepted.data.template ?? null,
  requestId: accepted.metadata.requestId,
  subjectDigest: accepted.data.subjectDigest,
  secret: accepted.metadata.secret,
  createdAt: accepted.metadata.occurredAt,
  ...currentState(changed),
});

const insertMessages = rowsInto<ReturnType<typeof inserted>>('messages', {
  message_id: 'messageId',
  organization_id: 'organizationId',
  environment: 'environment',
  domain_id: 'domainId',
  key_id: 'keyId',
  content_id: 'contentId',
  internet_message_id: 'internetMessageId',
  stream: 'stream',
  size_bytes: 'sizeBytes',
  template: 'template',
  request_id: 'requestId',
  subject_digest: 'subjectDigest',
  secret: 'secret',
  status: 'status',
  partial: 'partial',
  recipients: 'recipients',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
  expires_at: 'expiresAt',
  scheduled_at: 'scheduledAt',
});

const write = async (db: Database, changes: Changes): Promise<void> => {
  const all = [...changes];
  const accepted = all.flatMap(([, { accepted: event }]) => (event === null ? [] : [event]));
  const made = all.flatMap(([, changed]) => (changed.accepted === null ? [] : [inserted(changed.accepted, changed)]));
  const updated = all.flatMap(([messageId, changed]) =>
    changed.accepted !== null || changed.updatedAt === null ? [] : [{ messageId, ...currentState(changed) }],
  );
  await insertMessages(db, made);
  await insertLabels(db, [...accepted.flatMap(labelsOfAcceptance), ...all.flatMap(([, { further }]) => further)]);
  await addKeySends(db, accepted);
  if (updated.length > 0) {
    await db.query({ name: 'update-messages', text: UPDATE_MESSAGES, values: asRecords(updated) });
  }
};

export const messagesProjection = defineProjection<MessageEvent, Changes>({
  name: 'messages',
  version: 11,
  categories: ['message'],
  tables: ['messages', 'message_labels', 'key_sends'],
  handlers: {
    MessageAccepted: accept,
    MessageScheduled: schedule,
    MessageRescheduled: schedule,
    RecipientsHeld: hold,
    AttemptStarted: set({ status: 'sending' }),
    AttemptOutcomeUnknown: outcome('deferred', { status: 'deferred' }),
    RecipientDelivered: outcome('delivered', { status: 'delivered' }),
    RecipientDeferred: refused('deferred'),
    RecipientBounced: refused('bounced'),
    RecipientExpired: outcome('expired', { status: 'expired' }),
    RecipientFailed: outcome('failed', { status: 'failed' }),
    RecipientSuppressed: outcome('suppressed', { status: 'suppressed' }),
    RecipientCancelled: outcome('cancelled', { status: 'cancelled' }),
    RecipientOpened: engaged('opened'),
    RecipientClicked: engaged('clicked'),
    RecipientComplained: outcome('complained', { complained: true }),
    RecipientReportNoted: 'ignored',
    RecipientsResent: 'ignored',
    RecipientUnsubscribed: outcome('unsubscribed', { unsubscribed: true }),
  },
  begin,
  write,
});

const SELECT_RECIPIENTS = `
  select message_id, recipients, created_at, expires_at, scheduled_at from messages where message_id = any($1)`;

const UPDATE_MESSAGES = `
  update messages m
  set status = u.status, partial = u.partial, recipients = u.recipients, updated_at = u."updatedAt",
    expires_at = u."expiresAt", scheduled_at = u."scheduledAt"
  from json_to_recordset($1) as u("messageId" text, status text, partial boolean, recipients json,
    "updatedAt" timestamptz, "expiresAt" timestamptz, "scheduledAt" timestamptz)
  where m.message_id = u."messageId"`;
