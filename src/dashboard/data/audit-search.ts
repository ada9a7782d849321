import type { Query } from './api.ts';

/** Filters of the audit log. They use the API's parameter names, both in the URL and in the search field. */

export const FILTERS = ['actor', 'key_id', 'domain_id', 'message_id', 'type'] as const;
export type Filter = (typeof FILTERS)[number];

export const PERIODS = {
  '24h': { word: 'Last 24 hours', hours: 24 },
  '7d': { word: 'Last 7 days', hours: 168 },
  '30d': { word: 'Last 30 days', hours: 720 },
  all: { word: 'Any time', hours: null },
} as const;
type Period = keyof typeof PERIODS;

export interface AuditSearch {
  readonly filters: Readonly<Partial<Record<Filter, string>>>;
  readonly period: Period;
}

const isPeriod = (text: string | null): text is Period => text !== null && Object.hasOwn(PERIODS, text);

export const searchOf = (query: URLSearchParams): AuditSearch => {
  const given = FILTERS.map((name) => [name, query.get(name)] as const).filter(([, value]) => value !== null);
  const period = query.get('period');
  return { filters: Object.fromEntries(given), period: isPeriod(period) ? period : 'all' };
};

const HOUR_MS = 3_600_000;

/** Parameters of `GET /v1/audit/log`. The time is rounded to the hour, so that repeated queries are identical. */
export const logQuery = ({ filters, period }: AuditSearch): Query => {
  const { hours } = PERIODS[period];
  const since =
    hours === null ? null : new Date((Math.floor(Date.now() / HOUR_MS) - hours + 1) * HOUR_MS).toISOString();
  return { ...filters, since, limit: 50 };
};

const SHORT: Readonly<Record<string, Filter>> = { key: 'key_id', domain: 'domain_id', message: 'message_id' };
const isFilter = (name: string): name is Filter => (FILTERS as readonly string[]).includes(name);

/** Guesses the filter for text without a filter name. */
const GUESSES: readonly (readonly [RegExp, Filter])[] = [
  [/^key_[a-z2-7]{26}$/, 'key_id'],
  [/^dom_[a-z2-7]{26}$/, 'domain_id'],
  [/^msg_[a-z2-7]{26}$/, 'message_id'],
  [/^(?:operator|service|recipient|(?:key|auditor|worker|member):\S+)$/, 'actor'],
];

/** Parses search text: `actor:worker:expire-keys`, an id, or an event type such as `KeyRotated` or `key rotated`. */
export const filterIn = (text: string): readonly [Filter, string] => {
  const typed = text.trim();
  const guess = GUESSES.find(([pattern]) => pattern.test(typed));
  if (guess !== undefined) return [guess[1], typed];
  const { name = '', value = '' } = /^(?<name>[a-z_]+):\s*(?<value>\S.*)$/.exec(typed)?.groups ?? {};
  const filter = isFilter(name) ? name : SHORT[name];
  if (filter !== undefined) return [filter, value];
  return ['type', typed.replace(/(?:^|\s+)(\S)/g, (_all, letter: string) => letter.toUpperCase())];
};

/** Converts `KeyRotated` to `Key rotated`. */
export const wordsOf = (type: string): string => {
  const words = type.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};
