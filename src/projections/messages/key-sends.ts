import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { asRecords, type Database } from '../database.ts';

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
    const day = at.slice(0, 'YYYY-MM-DD'.length);
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
export const addKeySends = async (db: Database, accepted: readonly AcceptedEvent[]): Promise<void> => {
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
