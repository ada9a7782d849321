import type { SerializedStats } from '../../http/resources/stats.ts';
import type { Query } from '../data/api.ts';
import { linkTo, withParameters } from '../data/location.ts';
import { zone } from '../data/store.ts';
import type { Outcome } from '../messages/outcome-words.ts';

/** The query of the statistics screen: the parameters of `GET /v1/stats`, kept in the URL. */

export type Stats = SerializedStats;
type Granularity = Stats['granularity'];

export const PERIODS = {
  '24h': { word: 'Last 24 hours', granularity: 'hour' },
  '7d': { word: 'Last 7 days', granularity: 'day' },
  '30d': { word: 'Last 30 days', granularity: 'day' },
  '90d': { word: 'Last 90 days', granularity: 'day' },
  '12m': { word: 'Last 12 months', granularity: 'month' },
} as const satisfies Readonly<Record<string, { readonly word: string; readonly granularity: Granularity }>>;
type Period = keyof typeof PERIODS;

export const GRANULARITIES = ['hour', 'day', 'week', 'month'] as const satisfies readonly Granularity[];

export const DIMENSIONS = {
  recipient_domain: 'Recipient domain',
  mailbox_provider: 'Mailbox provider',
  domain: 'Sending domain',
  api_key: 'API key',
  template: 'Template',
  tag: 'Tag',
  stream: 'Stream',
  bounce_class: 'Bounce class',
} as const;
export type Dimension = keyof typeof DIMENSIONS;

/** Filter for messages that were rendered from no template. */
export const NO_TEMPLATE = '(none)';

const isOneOf = <T extends string>(values: Readonly<Record<T, unknown>>, text: string | null): text is T =>
  text !== null && Object.hasOwn(values, text);

export interface StatisticsSearch {
  /** null: a custom time range. */
  readonly period: Period | null;
  /** ISO 8601. */
  readonly from: string;
  /** null: now. */
  readonly to: string | null;
  readonly granularity: Granularity;
  readonly groupBy: readonly Dimension[];
  readonly filters: Readonly<Partial<Record<Dimension, string>>>;
  readonly attribution: 'cohort' | 'event';
}

const HOUR_MS = 3_600_000;
const DAYS = { '7d': 7, '30d': 30, '90d': 90 } as const;

/** Midnight in the displayed time zone. */
const midnight = (year: number, month: number, day: number): Date =>
  zone.get() === 'UTC' ? new Date(Date.UTC(year, month, day)) : new Date(year, month, day);

const dayOf = (at: Date): readonly [year: number, month: number, day: number] =>
  zone.get() === 'UTC'
    ? [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
    : [at.getFullYear(), at.getMonth(), at.getDate()];

/** Start of the period. Periods consist of whole hours, days and months; the last one is still running. */
const beginOf = (period: Period): Date => {
  const [year, month, day] = dayOf(new Date());
  if (period === '24h') return new Date((Math.floor(Date.now() / HOUR_MS) - 23) * HOUR_MS);
  return period === '12m' ? midnight(year, month - 11, 1) : midnight(year, month, day - DAYS[period] + 1);
};

const DEFAULT: Period = '30d';

/** Longer ranges are plotted by month: their days would be too narrow to see, and the service counts at most 2,000. */
const DAYS_BY_DAY_MAX = 400;

/** Buckets of a range without its own choice, at least a day long. @param to null: now. */
export const granularityFor = (from: string, to: string | null): 'day' | 'month' => {
  const days = ((to === null ? Date.now() : Date.parse(to)) - Date.parse(from)) / (24 * HOUR_MS);
  return days > DAYS_BY_DAY_MAX ? 'month' : 'day';
};

const granularityOf = (query: URLSearchParams, period: Period | null): Granularity => {
  const chosen = GRANULARITIES.find((one) => one === query.get('granularity'));
  if (chosen !== undefined) return chosen;
  return period === null ? granularityFor(query.get('from') ?? '', query.get('to')) : PERIODS[period].granularity;
};

/** Parses the search from the URL. */
export const searchOf = (query: URLSearchParams): StatisticsSearch => {
  const asked = query.get('period');
  const from = query.get('from');
  const period = from !== null ? null : isOneOf(PERIODS, asked) ? asked : DEFAULT;
  const filters = (Object.keys(DIMENSIONS) as Dimension[]).flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return {
    period,
    from: period === null ? (from ?? '') : beginOf(period).toISOString(),
    to: period === null ? query.get('to') : null,
    granularity: granularityOf(query, period),
    groupBy: (query.get('group_by') ?? 'recipient_domain').split(',').filter((name) => isOneOf(DIMENSIONS, name)),
    filters: Object.fromEntries(filters),
    attribution: query.get('attribution') === 'event' ? 'event' : 'cohort',
  };
};

/** IANA name of the displayed time zone. */
const timezone = (): string => (zone.get() === 'UTC' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone);

/** Parameters of `GET /v1/stats`. */
export const statsQuery = (search: StatisticsSearch): Query => ({
  from: search.from,
  to: search.to,
  granularity: search.granularity,
  timezone: timezone(),
  attribution: search.attribution,
  ...search.filters,
});

/** Names of the dimensions as filters of the message list. */
const LISTED: Readonly<Record<Dimension, string>> = {
  recipient_domain: 'recipient_domain',
  mailbox_provider: 'mailbox_provider',
  domain: 'domain_id',
  api_key: 'key_id',
  template: 'template_id',
  tag: 'tag',
  stream: 'stream',
  bounce_class: 'bounce_class',
};

/** A time range, an outcome, and optionally values of the dimensions besides those of the search. */
interface CountedMessages {
  readonly since: string;
  readonly until: string;
  readonly outcome: Outcome;
  readonly group?: Readonly<Partial<Record<Dimension, string | null>>>;
}

/** The service counts whole quarters of an hour. */
const QUARTER_MS = 900_000;
const quarter = (at: string, round: (quarters: number) => number): string =>
  new Date(round(Date.parse(at) / QUARTER_MS) * QUARTER_MS).toISOString();

/** Address of the messages that a figure counts, by the times of their acceptance or of the outcome. */
export const messagesBehind = (
  { attribution, filters }: StatisticsSearch,
  { since: from, until: to, outcome, group }: CountedMessages,
): string => {
  const isByEvent = attribution === 'event' && outcome !== 'accepted';
  const [since, until] = [quarter(from, Math.floor), quarter(to, Math.ceil)];
  return linkTo('/messages', {
    ...(isByEvent ? { outcome_since: since, outcome_until: until } : { since, until }),
    outcome,
    ...Object.fromEntries(
      Object.entries({ ...filters, ...group }).map(([name, value]) => [LISTED[name as Dimension], value]),
    ),
  });
};

type Bounds = Pick<CountedMessages, 'since' | 'until'>;

/** Times that a bucket counts: the first and the last may be longer than the period. */
export const boundsOf = ({ from, to, data }: Pick<Stats, 'from' | 'to' | 'data'>, index: number): Bounds => ({
  since: index === 0 ? from : (data[index]?.start ?? from),
  until: data[index + 1]?.start ?? to,
});

const SHORTER = { hour: 'hour', day: 'hour', week: 'day', month: 'day' } as const satisfies Record<
  Granularity,
  Granularity
>;

/** Address of the statistics of a bucket. */
export const statisticsOf = ({ granularity }: StatisticsSearch, { since, until }: Bounds): string =>
  withParameters({ period: null, from: since, to: until, granularity: SHORTER[granularity] });

/** The start of the following day, at which a range that includes the day ends. */
export const nextDay = (at: string): string => {
  const [year, month, day] = dayOf(new Date(at));
  return midnight(year, month, day + 1).toISOString();
};
