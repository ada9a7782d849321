import { useEffect, useRef, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { FeedEvent } from '../../http/resources/events/event.ts';
import { STATES, type State } from '../components/icons.tsx';
import { liveness, onEvents } from '../data/live.ts';
import { useResource } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import type { Times } from '../data/time.ts';

/** Describes events for people: the subject, what happened and a link to more. */

type MessageEvent = Extract<FeedEvent, { type: `message.${string}` }>;
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
  'message.complained': 'marked as spam',
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

interface EventWords {
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
  // Before the domain, which received mail names too.
  ['inbound_id', '/inbound'],
  ['domain_id', '/domains'],
  ['api_key_id', '/keys'],
  ['webhook_id', '/webhooks'],
  ['template_id', '/templates'],
  ['suppression', null],
  ['topic_id', null],
  ['inbound_route_id', null],
  ['erasure_id', null],
  ['invoice_id', null],
  ['organization_id', null],
] as const;

interface DescribedEvent {
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
  const { reason, period, size, subject } = data;
  if (typeof subject === 'string') return subject;
  if (typeof reason === 'string') return reason;
  return typeof size === 'number' ? `${size} events` : textOf(period);
};

const addressOf = (suppression: unknown): string =>
  textOf((suppression as { readonly address?: unknown } | undefined)?.address) || 'erased or expired';

/** Sender of received mail. */
const senderOf = (from: unknown): string =>
  textOf((from as readonly { readonly address?: unknown }[] | undefined)?.[0]?.address) || 'an unknown sender';

/** @param names names of domains and keys by id. */
const subjectOf = (
  field: string,
  data: Readonly<Record<string, unknown>>,
  names: ReadonlyMap<string, string>,
): string => {
  if (field === 'suppression') return addressOf(data[field]);
  if (field === 'inbound_id') return senderOf(data.from);
  const id = textOf(data[field]);
  return names.get(id) ?? id;
};

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
    subject: subjectOf(field, data, names),
    words: furtherWords(data),
    path: screen === null ? null : `${screen}/${id}`,
  };
};

/** The newest events, followed live. */

const SECOND_MS = 1_000;

export interface Tail {
  /** Newest first. */
  readonly events: readonly FeedEvent[];
  /** Events received since the screen opened, shown or not. */
  readonly came: number;
  /** Events in the most recent second that had any. */
  readonly perSecond: number;
  readonly isPending: boolean;
  readonly error: Error | null;
}

interface TailOptions {
  /** Types and families separated by commas, in the API's format; empty: all. */
  readonly types: string;
  /** Maximum number of events kept and shown. */
  readonly limit: number;
  readonly isPaused?: boolean;
}

const matches = (types: string, { type }: FeedEvent): boolean =>
  types === '' ||
  types.split(',').some((one) => one === type || (one.endsWith('.*') && type.startsWith(one.slice(0, -1))));

const merge = (newer: readonly FeedEvent[], older: readonly FeedEvent[], limit: number): readonly FeedEvent[] => {
  const known = new Set(newer.map(({ id }) => id));
  return [...newer, ...older.filter(({ id }) => !known.has(id))].slice(0, limit);
};

/** A reload may hold events that the stream has not brought yet. Events with the same time keep their order. */
const newestFirst = (events: readonly FeedEvent[]): readonly FeedEvent[] =>
  events.toSorted((left, right) => Date.parse(right.timestamp) - Date.parse(left.timestamp));

/** Pausing freezes the list. Events that arrive while it is paused appear when it resumes. */
export const useTail = ({ types, limit, isPaused = false }: TailOptions): Tail => {
  const first = useResource<List<FeedEvent>>({ path: '/v1/events', query: { limit, types } });
  const { state } = useStore(liveness);
  const [shown, show] = useState<Pick<Tail, 'events' | 'came' | 'perSecond'>>({ events: [], came: 0, perSecond: 0 });
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const showNow = useRef<() => void>(() => undefined);

  // Events from before the stream started are missing, so the first page is read again.
  const was = useRef(state);
  useEffect(() => {
    if (state === 'live' && was.current !== 'live') void first.refetch();
    was.current = state;
  }, [state]);

  useEffect(() => {
    let news: readonly FeedEvent[] = [];
    let came = 0;
    let second = { at: 0, count: 0 };
    const countIn = (at: number, count: number): void => {
      second = { at, count: second.at === at ? second.count + count : count };
    };
    show({ events: [], came: 0, perSecond: 0 });
    showNow.current = () => {
      const latest = paused.current ? [] : news;
      if (!paused.current) news = [];
      show(({ events }) => ({ events: merge(latest, events, limit), came, perSecond: second.count }));
    };
    return onEvents((events) => {
      const matching = events.filter((event) => matches(types, event));
      if (matching.length === 0) return;
      countIn(Math.floor(Date.now() / SECOND_MS), matching.length);
      came += matching.length;
      news = [...matching.toReversed(), ...news].slice(0, limit);
      showNow.current();
    });
  }, [types, limit]);
  useEffect(() => {
    if (!isPaused) showNow.current();
  }, [isPaused]);

  const read = first.isPlaceholderData ? [] : (first.data?.data ?? []);
  // The query reloads when the window regains focus, which must not change a paused list.
  const older = useRef({ types, read });
  const isOther = older.current.types !== types || older.current.read.length === 0;
  if (!isPaused || isOther) older.current = { types, read };
  return {
    ...shown,
    events: newestFirst(merge(shown.events, older.current.read.toReversed(), limit)),
    isPending: first.isPending || first.isPlaceholderData,
    error: first.error,
  };
};
