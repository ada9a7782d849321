import type { FeedEvent } from '../../http/schemas/event.ts';
import { STATES, type State } from '../parts/shapes.ts';
import type { Times } from './time.ts';

/** Describes events for people: the subject, what happened and a link to more. */

export type MessageEvent = Extract<FeedEvent, { type: `message.${string}` }>;
type Smtp = Extract<FeedEvent, { type: 'message.delivered' }>['data']['smtp'];

/** Empty if the server did not reply. */
const replyOf = (smtp: Smtp | undefined): string => {
  if (smtp === undefined) return '';
  const { code, enhanced, text } = smtp;
  return [code === 0 ? null : code, enhanced, text].filter(Boolean).join(' ');
};

/** Descriptions of event types whose data adds nothing. */
const WORDS = {
  'message.accepted': 'accepted',
  'message.complained': 'marked as unwanted',
  'message.unsubscribed': 'unsubscribed',
} as const;

const wordsOf = (event: MessageEvent, times: Times): string => {
  switch (event.type) {
    case 'message.accepted':
    case 'message.complained':
    case 'message.unsubscribed':
      return WORDS[event.type];
    case 'message.scheduled':
    case 'message.rescheduled':
      return `for ${times.short(event.data.scheduled_at)}`;
    case 'message.sending':
      return `attempt ${event.data.attempt}`;
    case 'message.delivered':
      return replyOf(event.data.smtp);
    case 'message.bounced':
    case 'message.deferred':
      return replyOf(event.data.smtp) || event.data.reason;
    case 'message.opened':
      return `opened${event.data.machine ? ' by a machine' : ''}`;
    case 'message.clicked':
      return event.data.url ?? 'clicked';
    default:
      return event.data.reason;
  }
};

const stateOf = (event: MessageEvent): State => {
  const name = event.type.slice('message.'.length);
  if (name === 'rescheduled') return 'scheduled';
  return Object.hasOwn(STATES, name) ? (name as State) : 'accepted';
};

export interface EventWords {
  readonly state: State;
  /** Email address of the recipient. */
  readonly subject: string;
  readonly words: string;
}

export const describeMessageEvent = (event: MessageEvent, times: Times): EventWords => ({
  state: stateOf(event),
  subject: event.data.recipient.address ?? 'erased or expired',
  words: wordsOf(event, times),
});

const isOfMessage = (event: FeedEvent): event is MessageEvent => event.type.startsWith('message.');
export const messageEventsOf = (events: readonly FeedEvent[]): readonly MessageEvent[] => events.filter(isOfMessage);

/** Event data fields that identify the subject, and the screen that shows it. */
const THINGS = [
  ['domain_id', '/domains'],
  ['api_key_id', '/keys'],
  ['webhook_id', '/webhooks'],
  ['template_id', '/templates'],
  ['suppression', null],
  ['topic_id', null],
  ['erasure_id', null],
  ['invoice_id', null],
  ['organization_id', null],
] as const;

export interface DescribedEvent {
  /** null if the event does not belong to a message. */
  readonly state: State | null;
  /** Email address, name or id. */
  readonly subject: string;
  readonly words: string;
  /** Path of the screen that shows the subject; null: no screen does. */
  readonly path: string | null;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Details of an event that does not belong to a message. */
const furtherWords = (data: Readonly<Record<string, unknown>>): string => {
  const { reason, period, size } = data;
  if (typeof reason === 'string') return reason;
  return typeof size === 'number' ? `${size} events` : textOf(period);
};

const addressOf = (suppression: unknown): string =>
  textOf((suppression as { readonly address?: unknown } | undefined)?.address) || 'erased or expired';

/** @param names names of domains and keys by id. */
export const describeEvent = (
  event: FeedEvent,
  { times, names }: { readonly times: Times; readonly names: ReadonlyMap<string, string> },
): DescribedEvent => {
  if (isOfMessage(event)) {
    return { ...describeMessageEvent(event, times), path: `/messages/${event.data.message_id}` };
  }
  const data: Readonly<Record<string, unknown>> = event.data;
  const [field, screen] = THINGS.find(([name]) => data[name] !== undefined) ?? ['', null];
  const id = textOf(data[field]);
  return {
    state: null,
    subject: field === 'suppression' ? addressOf(data[field]) : (names.get(id) ?? id),
    words: furtherWords(data),
    path: screen === null ? null : `${screen}/${id}`,
  };
};
