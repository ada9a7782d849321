import type { SerializedListedMessage } from '../../http/resources/messages/message.ts';
import type { Query } from '../data/api.ts';

/** Plain descriptions of the bounce classes. */
export const BOUNCE_REASONS: Readonly<Record<string, string>> = {
  no_mailbox: 'The mailbox does not exist',
  no_domain: 'The domain does not exist',
  mailbox_disabled: 'The mailbox is disabled',
  mailbox_full: 'The mailbox is full',
  too_large: 'The message is too large',
  content_rejected: 'Rejected for its content',
  spam: 'Rejected as spam',
  policy: 'Rejected by the recipient’s policy',
  reputation: 'Rejected for the sender’s reputation',
  authentication: 'SPF, DKIM or DMARC failed',
  greylisted: 'Asked to retry later',
  rate_limited: 'Too much mail at once',
  sender_rejected: 'The sender was rejected',
  relay_denied: 'The server does not accept its mail',
  system: 'Error on the recipient’s server',
  network: 'The server could not be reached',
  protocol: 'SMTP protocol error',
};

/** Filters of the message list. They use the API's parameter names, both in the URL and in the search field. */

const FILTERS = [
  'to',
  'from',
  'status',
  'outcome',
  'tag',
  'metadata',
  'subject',
  'message_id',
  'key_id',
  'request_id',
  'template_id',
  'domain_id',
  'recipient_domain',
  'mailbox_provider',
  'stream',
  'smtp_code',
  'bounce_class',
] as const;
type Filter = (typeof FILTERS)[number];

export const PERIODS = {
  '24h': { word: 'Last 24 hours', hours: 24 },
  '3d': { word: 'Last 3 days', hours: 72 },
  '30d': { word: 'Last 30 days', hours: 720 },
  all: { word: 'Any time', hours: null },
} as const;
type Period = keyof typeof PERIODS;

const HOUR_MS = 3_600_000;

export interface MessageSearch {
  readonly filters: Readonly<Partial<Record<Filter, string>>>;
  /** null: a custom time range. */
  readonly period: Period | null;
  /** ISO 8601; null: unbounded. */
  readonly since: string | null;
  readonly until: string | null;
}

const isPeriod = (text: string | null): text is Period => text !== null && Object.hasOwn(PERIODS, text);

/** Rounds down to the hour, so that queries within an hour are identical. */
export const hoursAgo = (hours: number | null): string | null =>
  hours === null ? null : new Date(Math.floor(Date.now() / HOUR_MS - hours + 1) * HOUR_MS).toISOString();

/** Parses the search from the URL. */
export const searchOf = (query: URLSearchParams): MessageSearch => {
  const given = FILTERS.map((name) => [name, query.get(name)] as const).filter(([, value]) => value !== null);
  const asked = query.get('period');
  const period = query.has('since') ? null : isPeriod(asked) ? asked : '3d';
  return {
    filters: Object.fromEntries(given),
    period,
    since: period === null ? query.get('since') : hoursAgo(PERIODS[period].hours),
    until: query.get('until'),
  };
};

/** Parameters of `GET /v1/messages`. */
export const listQuery = ({ filters, since, until }: MessageSearch): Query => ({ ...filters, since, until, limit: 50 });

/** Outcomes of recipients, as statistics count them. */
export const OUTCOMES = {
  waiting: 'Waiting',
  delivered: 'Delivered',
  deferred: 'Deferred at least once',
  bounced: 'Bounced',
  failed: 'Failed',
  expired: 'Expired',
  suppressed: 'Suppressed',
  cancelled: 'Cancelled',
  opened: 'Opened',
  clicked: 'Clicked',
  complained: 'Complained',
  unsubscribed: 'Unsubscribed',
  accepted: 'Accepted',
} as const;
export type Outcome = keyof typeof OUTCOMES;

export const isOutcome = (text: string | undefined): text is Outcome =>
  text !== undefined && Object.hasOwn(OUTCOMES, text);

/** Outcomes that are no status of a message. */
const MARKS: readonly string[] = ['waiting', 'opened', 'clicked', 'complained', 'unsubscribed'];

const METRICS = 'accepted,delivered,bounced,failed,expired,suppressed,cancelled';
const DAYS_BY_HOUR_MAX = 4;

/** Parameters of `GET /v1/stats` for the chart above the list. It supports fewer filters than the list. */
export const barsQuery = ({ filters, since, until }: MessageSearch): Query => {
  const from = since ?? hoursAgo(PERIODS['30d'].hours) ?? '';
  const days = (new Date(until ?? Date.now()).getTime() - new Date(from).getTime()) / (24 * HOUR_MS);
  return {
    from,
    to: until,
    granularity: days > DAYS_BY_HOUR_MAX ? 'day' : 'hour',
    metrics: METRICS,
    tag: filters.tag,
    domain: filters.domain_id,
    api_key: filters.key_id,
    template: filters.template_id,
    stream: filters.stream,
    // Statistics cannot be filtered by tag and domain together.
    ...(filters.tag === undefined && {
      recipient_domain: filters.recipient_domain,
      mailbox_provider: filters.mailbox_provider,
    }),
  };
};

/** Filters that statistics do not have. */
const UNCOUNTED = [
  'to',
  'from',
  'status',
  'metadata',
  'subject',
  'message_id',
  'request_id',
  'smtp_code',
] as const satisfies readonly Filter[];

/** Parameters of `GET /v1/stats` that count the recipients with the outcome of the search; null: they cannot be counted. */
export const countQuery = (search: MessageSearch): Query | null => {
  const { filters, since } = search;
  const isCounted = isOutcome(filters.outcome) && UNCOUNTED.every((name) => filters[name] === undefined);
  if (!isCounted || since === null) return null;
  return { ...barsQuery(search), granularity: 'month', metrics: null, bounce_class: filters.bounce_class };
};

const TOKEN = /^(?<name>[a-z_]+):\s*(?<value>\S.*)$/;
/** Short forms of the API's filter names. */
const SHORT: Readonly<Record<string, Filter>> = {
  key: 'key_id',
  request: 'request_id',
  template: 'template_id',
  domain: 'domain_id',
  code: 'smtp_code',
  provider: 'mailbox_provider',
  bounce: 'bounce_class',
};
const isFilter = (name: string): name is Filter => (FILTERS as readonly string[]).includes(name);

/** Words that can precede a value, including the time bounds `since` and `until`. */
export const WORDS = [
  'to',
  'from',
  'status',
  'outcome',
  'tag',
  'key',
  'template',
  'domain',
  'recipient_domain',
  'provider',
  'stream',
  'code',
  'bounce',
  'subject',
  'since',
  'until',
] as const;

/** Ids by display name. */
export type Ids = Readonly<Partial<Record<Filter, ReadonlyMap<string, string>>>>;

/** Guesses the filter for text without a filter name. */
const GUESSES: readonly (readonly [RegExp, Filter])[] = [
  [/^<?msg_[a-z2-7]{26}@\S+>?$/, 'message_id'],
  [/^req_[0-9a-f]{32}$/, 'request_id'],
  [/^key_[a-z2-7]{26}$/, 'key_id'],
  [/^tpl_[a-z2-7]{26}$/, 'template_id'],
  [/^dom_[a-z2-7]{26}$/, 'domain_id'],
  [/^[^\s@]+@[^\s@]+$/, 'to'],
  [/^[45]\d\d(?: [45]\.\d{1,3}\.\d{1,3})?$|^[45]\.\d{1,3}\.\d{1,3}$/, 'smtp_code'],
];

/** Converts a typed date or time to ISO 8601; null: it is neither. */
const timeIn = (text: string): string | null => {
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
};

const filterNamed = (name: string, value: string): Filter | undefined => {
  if (name === 'status' && MARKS.includes(value)) return 'outcome';
  return isFilter(name) ? name : SHORT[name];
};

type ParameterChanges = Readonly<Record<string, string | null>>;

/**
 * Parses search text into parameters: `status:bounced`, `since:2026-11-20`, an address, an id, a code, or else words of
 * the subject.
 */
export const filterIn = (text: string, ids: Ids = {}): ParameterChanges => {
  const typed = text.trim();
  const { name = '', value = '' } = TOKEN.exec(typed)?.groups ?? {};
  const time = name === 'since' || name === 'until' ? timeIn(value) : null;
  if (time !== null) return { [name]: time, period: null };
  const filter = filterNamed(name, value);
  if (filter !== undefined) return { [filter]: ids[filter]?.get(value) ?? value };
  const guess = GUESSES.find(([pattern]) => pattern.test(typed));
  return { [guess?.[1] ?? 'subject']: typed };
};

const MESSAGE = /^msg_[a-z2-7]{26}$/;
/** The id of a message, which is opened instead of searched. */
export const messageIn = (text: string): string | null => (MESSAGE.test(text.trim()) ? text.trim() : null);

/** Exports rows of the message list as CSV (RFC 4180). */

/** Leading characters that make a spreadsheet evaluate the cell. */
const FORMULA = /^[=+\-@\t\r']/;

const cell = (text: string): string => {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const COLUMNS = [
  'id',
  'created_at',
  'status',
  'from',
  'to',
  'subject',
  'tags',
  'api_key_id',
  'domain_id',
  'message_id',
];

const cellsOf = (message: SerializedListedMessage): readonly string[] => [
  message.id,
  message.created_at,
  message.status,
  message.from ?? '',
  message.recipients.map(({ address }) => address ?? '').join(' '),
  message.subject ?? '',
  message.tags.map(({ name, value }) => `${name}:${value}`).join(' '),
  message.api_key_id,
  message.domain_id,
  message.message_id,
];

export const messagesCsv = (messages: readonly SerializedListedMessage[]): Blob => {
  const lines = [COLUMNS, ...messages.map(cellsOf)].map((cells) => `${cells.map(cell).join(',')}\r\n`);
  return new Blob(lines, { type: 'text/csv' });
};
