import type { SerializedListedMessage } from '../../http/resources/messages/message.ts';
import type { Query } from '../data/api.ts';
import { granularityFor } from '../statistics/data.ts';
import { isOutcome, isTimed, OUTCOME_TIMES } from './outcome-words.ts';

/** Filters of the message list. They use the API's parameter names, both in the URL and in the search field. */

const FILTERS = [
  'to',
  'from',
  'status',
  'outcome',
  'outcome_since',
  'outcome_until',
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

const periodOf = (query: URLSearchParams, hasTimes: boolean): Period | null => {
  if (query.has('since')) return null;
  const asked = query.get('period');
  if (isPeriod(asked)) return asked;
  return hasTimes ? 'all' : '3d';
};

/** Parses the search from the URL. Times of an outcome stay there unused while no outcome that has one is chosen. */
export const searchOf = (query: URLSearchParams): MessageSearch => {
  const names = FILTERS.filter((name) => isTimed(query.get('outcome')) || !OUTCOME_TIMES.includes(name));
  const given = names.map((name) => [name, query.get(name)] as const).filter(([, value]) => value !== null);
  const period = periodOf(
    query,
    given.some(([name]) => OUTCOME_TIMES.includes(name)),
  );
  return {
    filters: Object.fromEntries(given),
    period,
    since: period === null ? query.get('since') : hoursAgo(PERIODS[period].hours),
    until: query.get('until'),
  };
};

/** Parameters of `GET /v1/messages`. */
export const listQuery = ({ filters, since, until }: MessageSearch): Query => ({ ...filters, since, until, limit: 50 });

const monthBeforeTime = (until: string): string | null => {
  const time = Date.parse(until);
  return Number.isNaN(time) ? null : new Date(time - (PERIODS['30d'].hours ?? 0) * HOUR_MS).toISOString();
};

const METRICS = 'accepted,delivered,bounced,failed,expired,suppressed,cancelled';
const DAYS_BY_HOUR_MAX = 4;

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

/** Statistics cannot be filtered by tag and one of these together. */
const NOT_WITH_TAG = ['recipient_domain', 'mailbox_provider'] as const satisfies readonly Filter[];

/** A tag's name or value alone is searched in contents, which are not counted. */
const isTagCounted = (tag: string): boolean => tag.includes(':');

/** True if messages are found by the time of their outcome. */
export const isByOutcomeTime = ({ filters }: MessageSearch): boolean =>
  filters.outcome_since !== undefined || filters.outcome_until !== undefined;

/** Filters of the search by which outcomes cannot be counted. */
const uncountedIn = ({ filters }: MessageSearch): readonly Filter[] => {
  const { tag } = filters;
  const never = UNCOUNTED.filter((name) => filters[name] !== undefined);
  if (tag === undefined) return never;
  return isTagCounted(tag)
    ? [...never, ...NOT_WITH_TAG.filter((name) => filters[name] !== undefined)]
    : [...never, 'tag'];
};

/** Filters of the search that the chart cannot have. A bounce has a class, other outcomes have none. */
export const unchartedIn = (search: MessageSearch): readonly Filter[] => [
  ...uncountedIn(search),
  ...(search.filters.bounce_class === undefined ? [] : (['bounce_class'] as const)),
];

/** Parameters of `GET /v1/stats` for a search all of whose filters are counted. */
export const barsQuery = (search: MessageSearch): Query => {
  const { filters } = search;
  const [since, until] = isByOutcomeTime(search)
    ? [filters.outcome_since ?? null, filters.outcome_until ?? null]
    : [search.since, search.until];
  const monthBefore = until === null ? hoursAgo(PERIODS['30d'].hours) : monthBeforeTime(until);
  const from = since ?? monthBefore ?? '';
  const days = (new Date(until ?? Date.now()).getTime() - new Date(from).getTime()) / (24 * HOUR_MS);
  return {
    from,
    to: until,
    granularity: days > DAYS_BY_HOUR_MAX ? granularityFor(from, until) : 'hour',
    attribution: isByOutcomeTime(search) ? 'event' : null,
    metrics: METRICS,
    tag: filters.tag,
    domain: filters.domain_id,
    api_key: filters.key_id,
    template: filters.template_id,
    stream: filters.stream,
    recipient_domain: filters.recipient_domain,
    mailbox_provider: filters.mailbox_provider,
  };
};

/** Parameters of `GET /v1/stats` that count the recipients with the outcome of the search; null: they cannot be counted. */
export const countQuery = (search: MessageSearch): Query | null => {
  const { filters } = search;
  const isByTime = isByOutcomeTime(search);
  const since = isByTime ? filters.outcome_since : search.since;
  // Statistics count either by acceptance or by the time of the outcome.
  const hasBoth = isByTime && (search.since ?? search.until) !== null;
  if (!isOutcome(filters.outcome) || uncountedIn(search).length > 0 || hasBoth || !since) return null;
  return { ...barsQuery(search), granularity: 'month', metrics: null, bounce_class: filters.bounce_class };
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
  'partial',
  'from',
  'to',
  'subject',
  'tags',
  'api_key_id',
  'api_key_name',
  'domain_id',
  'domain_name',
  'message_id',
];

/** Names by id of keys, members and domains. */
type Names = ReadonlyMap<string, string>;

const cellsOf = (message: SerializedListedMessage, names: Names): readonly string[] => [
  message.id,
  message.created_at,
  message.status,
  String(message.partial),
  message.from ?? '',
  message.recipients.map(({ address }) => address ?? '').join(' '),
  message.subject ?? '',
  message.tags.map(({ name, value }) => `${name}:${value}`).join(' '),
  message.api_key_id,
  names.get(message.api_key_id) ?? '',
  message.domain_id,
  names.get(message.domain_id) ?? '',
  message.message_id,
];

export const messagesCsv = (messages: readonly SerializedListedMessage[], names: Names): Blob => {
  const lines = [COLUMNS, ...messages.map((message) => cellsOf(message, names))].map(
    (cells) => `${cells.map(cell).join(',')}\r\n`,
  );
  return new Blob(lines, { type: 'text/csv' });
};
