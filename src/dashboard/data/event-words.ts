import type { FeedEvent } from '../../http/schemas/event.ts';
import { STATES, type State } from '../parts/shapes.ts';
import type { Times } from './time.ts';

/** Events as people read them: what each is about, what happened, and where more is to be seen. */

export type MessageEvent = Extract<FeedEvent, { type: `message.${string}` }>;
type Smtp = Extract<FeedEvent, { type: 'message.delivered' }>['data']['smtp'];

/** Empty: there was no reply. */
const replyOf = (smtp: Smtp | undefined): string => {
  if (smtp === undefined) return '';
  const { code, enhanced, text } = smtp;
  return [code === 0 ? null : code, enhanced, text].filter(Boolean).join(' ');
};

/** Where nothing more is known of an event than its type. */
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
  /** An address. */
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
