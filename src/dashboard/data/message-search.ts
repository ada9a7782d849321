import type { Query } from './api.ts';

/** Filters of the message list: the API's own parameters, in the URL and as words in the search field. */

export const FILTERS = [
  'to',
  'from',
  'status',
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
export type Filter = (typeof FILTERS)[number];

export const PERIODS = {
  '24h': { word: 'Last 24 hours', hours: 24 },
  '3d': { word: 'Last 3 days', hours: 72 },
  '30d': { word: 'Last 30 days', hours: 720 },
  all: { word: 'Any time', hours: null },
} as const;
export type Period = keyof typeof PERIODS;

const HOUR_MS = 3_600_000;

export interface MessageSearch {
  readonly filters: Readonly<Partial<Record<Filter, string>>>;
  /** null: between two given times. */
  readonly period: Period | null;
  /** ISO 8601; null: no bound. */
  readonly since: string | null;
  readonly until: string | null;
}

const isPeriod = (text: string | null): text is Period => text !== null && Object.hasOwn(PERIODS, text);

/** The begin of the hour, so that the same question is asked the same way for an hour. */
export const hoursAgo = (hours: number | null): string | null =>
  hours === null ? null : new Date(Math.floor(Date.now() / HOUR_MS - hours + 1) * HOUR_MS).toISOString();

/** What the URL asks for. */
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

const METRICS = 'accepted,delivered,bounced,failed,expired,suppressed,cancelled';
const DAYS_BY_HOUR_MAX = 4;

/** Parameters of `GET /v1/stats` for the bars above the list. They know fewer filters than the list. */
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
    // Recipients are not counted by tag and by domain at once.
    ...(filters.tag === undefined && {
      recipient_domain: filters.recipient_domain,
      mailbox_provider: filters.mailbox_provider,
    }),
  };
};

const TOKEN = /^(?<name>[a-z_]+):\s*(?<value>\S.*)$/;
/** Words for filters that are quicker to type than the API's own. */
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

/** Words that are typed before a value, and bound the time with `since` and `until`. */
export const WORDS = [
  'to',
  'from',
  'status',
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

/** Ids by the names that people call them. */
export type Ids = Readonly<Partial<Record<Filter, ReadonlyMap<string, string>>>>;

/** By what text looks like, for text that names no filter. */
const GUESSES: readonly (readonly [RegExp, Filter])[] = [
  [/^<?msg_[a-z2-7]{26}@\S+>?$/, 'message_id'],
  [/^req_[0-9a-f]{32}$/, 'request_id'],
  [/^key_[a-z2-7]{26}$/, 'key_id'],
  [/^tpl_[a-z2-7]{26}$/, 'template_id'],
  [/^dom_[a-z2-7]{26}$/, 'domain_id'],
  [/^[^\s@]+@[^\s@]+$/, 'to'],
  [/^[45]\d\d(?: [45]\.\d{1,3}\.\d{1,3})?$|^[45]\.\d{1,3}\.\d{1,3}$/, 'smtp_code'],
];

/** A day or a time as it is typed, as ISO 8601 has it; null: it is none. */
const timeIn = (text: string): string | null => {
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
};

type Asked = Readonly<Record<string, string | null>>;

/**
 * Parameters that typed text asks for: `status:bounced`, `since:2026-11-20`, an address, an id, a code, or else words
 * of a subject.
 */
export const filterIn = (text: string, ids: Ids = {}): Asked => {
  const typed = text.trim();
  const { name = '', value = '' } = TOKEN.exec(typed)?.groups ?? {};
  const time = name === 'since' || name === 'until' ? timeIn(value) : null;
  if (time !== null) return { [name]: time, period: null };
  const filter = isFilter(name) ? name : SHORT[name];
  if (filter !== undefined) return { [filter]: ids[filter]?.get(value) ?? value };
  const guess = GUESSES.find(([pattern]) => pattern.test(typed));
  return { [guess?.[1] ?? 'subject']: typed };
};

const MESSAGE = /^msg_[a-z2-7]{26}$/;
/** The id of a message, which is opened rather than looked for. */
export const messageIn = (text: string): string | null => (MESSAGE.test(text.trim()) ? text.trim() : null);
