import type { JSX } from 'preact';
import type { SerializedListedInbound } from '../../http/resources/inbound.ts';
import { Choice, wordsOf } from '../components/choice.tsx';
import { FilterChip } from '../components/screen.tsx';
import { TokenSearch } from '../components/token-search.tsx';
import { useSeesContents } from '../data/access.ts';
import type { Query } from '../data/api.ts';
import { linkTo, navigate, withParameters } from '../data/location.ts';
import { useDomainNames } from '../data/names.ts';
import { useStore, zone } from '../data/store.ts';
import { useTimes } from '../data/time.ts';
import {
  type FilterRule,
  named,
  type Offer,
  type Problem,
  parseSearch,
  quoted,
  type SearchRules,
  time,
  type tokenAt,
} from '../data/tokens.ts';
import { contentFiltersIn, TimeRange, withoutContents, wordOf } from '../messages/search.tsx';
import { hoursAgo, PERIODS } from '../messages/selection.ts';

/** Filters of the list of inbound messages. They use the API's parameter names in the URL. */

const FILTERS = ['from', 'to', 'domain_id', 'subject', 'in_reply_to_message_id'] as const;
const ANSWERED = 'in_reply_to_message_id';

export interface InboundSearch {
  readonly filters: Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;
  /** null: a custom time range. */
  readonly period: keyof typeof PERIODS | null;
  /** ISO 8601; null: unbounded. */
  readonly since: string | null;
  readonly until: string | null;
}

/** Filters that roles without contents may use. */
export const OPEN_FILTERS = 'domain, since or until';

const isPeriod = (text: string): text is keyof typeof PERIODS => Object.hasOwn(PERIODS, text);

export const searchOf = (query: URLSearchParams): InboundSearch => {
  const given = FILTERS.flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const asked = query.get('period') ?? 'all';
  const period = query.has('since') || !isPeriod(asked) ? null : asked;
  return {
    filters: Object.fromEntries(given),
    period,
    since: period === null ? query.get('since') : hoursAgo(PERIODS[period].hours),
    until: query.get('until'),
  };
};

/** Higher: the first screen loads more slowly. Lower: more requests while scrolling. */
const PAGE = 50;

/** Parameters of `GET /v1/inbound`. */
export const listQuery = ({ filters, since, until }: InboundSearch): Query => ({
  ...filters,
  since,
  until,
  limit: PAGE,
});

export const isFiltered = ({ filters, since, until }: InboundSearch): boolean =>
  Object.keys(filters).length > 0 || since !== null || until !== null;

const ABOUT: Readonly<Record<string, string>> = {
  from: 'complete address of the sender',
  to: 'complete address that received the mail',
  subject: 'words of the subject',
  domain: 'domain that received the mail',
  since: '2d, today or a date',
  until: '2d, today or a date',
};

const DOMAIN_ID = /^dom_[a-z2-7]{26}$/;
const INBOUND_ID = /^inb_[a-z2-7]{26}$/;
const ADDRESS = /^[^\s@"]+@[^\s@"]+$/;

const rule = (parameter: string, parse: FilterRule['parse']): FilterRule => ({ parameter, parse });

const address =
  (name: string): FilterRule['parse'] =>
  (value) =>
    ADDRESS.test(value)
      ? { value }
      : { message: `“${value}” is not a complete address. Use ${name}:ann@example.com.`, near: null };

const subject: FilterRule['parse'] = (value) =>
  /[\p{L}\p{N}]{2}|\p{Script=Han}/u.test(value)
    ? { value }
    : { message: `“${value}” has no word of two letters or more, which a subject is searched by.`, near: null };

/** @param domains ids by name. */
const rulesFor = (domains: ReadonlyMap<string, string>, isUtc: boolean): SearchRules => {
  const domain = rule('domain_id', named('domain', DOMAIN_ID, domains));
  return {
    filters: {
      from: rule('from', address('from')),
      to: rule('to', address('to')),
      subject: rule('subject', subject),
      domain,
      domain_id: domain,
      since: rule('since', time('since', isUtc)),
      until: rule('until', time('until', isUtc)),
    },
    offered: Object.keys(ABOUT),
    guess: (text) => {
      if (DOMAIN_ID.test(text)) return 'domain';
      return !text.includes(':') && ADDRESS.test(text) ? 'from' : null;
    },
    words: 'subject',
  };
};

interface SearchProps {
  readonly search: InboundSearch;
  /** Visible messages. Their values are offered. */
  readonly messages: readonly SerializedListedInbound[];
}

const TIMES = ['1h', 'today', 'yesterday', '2d', '7d', '4w'] as const;

/** Values offered for each filter. */
const valuesOf = (
  messages: SearchProps['messages'],
  domains: readonly string[],
): Record<string, readonly string[]> => ({
  from: messages.flatMap(({ from }) => from.map((sender) => sender.address)),
  to: messages.flatMap(({ envelope }) => envelope?.to ?? []),
  domain: domains,
  since: TIMES,
  until: TIMES,
});

const offersFor = (
  { name, value, text }: ReturnType<typeof tokenAt>,
  values: ReturnType<typeof valuesOf>,
): readonly Offer[] => {
  const typed = value.replaceAll('"', '').toLowerCase();
  const found =
    name === null
      ? Object.entries(ABOUT)
          .filter(([word]) => word.startsWith(typed))
          .map(([word, about]) => ({ text: `${word}:`, about }))
      : (values[name] ?? [])
          .filter((one) => one.toLowerCase().includes(typed) && !one.includes('***'))
          .map((one) => ({ text: `${name}:${quoted(one)}` }));
  const distinct = new Map(found.map((one) => [one.text, one]));
  distinct.delete(text);
  return [...distinct.values()];
};

const Chips = ({ search }: Pick<SearchProps, 'search'>): JSX.Element => {
  const times = useTimes();
  const domains = useDomainNames();
  const { filters, period, since, until } = search;
  const bounds = { ...(period === null && { since }), until };
  return (
    <>
      {Object.entries(filters).map(([name, value]) => (
        <FilterChip
          key={name}
          name={name}
          word={name === ANSWERED ? 'answers' : wordOf(name)}
          value={domains.get(value) ?? value}
          removed={name}
        />
      ))}
      {Object.entries(bounds).map(
        ([name, at]) =>
          typeof at === 'string' && (
            <FilterChip
              key={name}
              name={name}
              word={name}
              value={Number.isNaN(Date.parse(at)) ? at : times.short(at)}
              removed={name}
            />
          ),
      )}
    </>
  );
};

/** Filters of the list as words that can be typed, pasted and removed. */
export const InboundSearchBar = ({ search, messages }: SearchProps): JSX.Element => {
  const names = useDomainNames();
  const ids = new Map([...names].map(([id, name]) => [name, id]));
  const isUtc = useStore(zone) === 'UTC';
  const seesContents = useSeesContents();
  const values = valuesOf(messages, [...ids.keys()]);
  const parse = (text: string) => {
    const parsed = parseSearch(text, rulesFor(ids, isUtc));
    const [refused] = seesContents ? [] : contentFiltersIn(parsed.changes as Readonly<Record<string, string>>);
    if (refused === undefined) return parsed;
    const message = withoutContents(refused, OPEN_FILTERS);
    return { ...parsed, problems: [{ message, fixes: [''], from: 0, to: text.length }] };
  };
  const find = (text: string): readonly Problem[] => {
    const id = text.trim();
    if (INBOUND_ID.test(id)) {
      navigate(linkTo(`/inbound/${id}`));
      return [];
    }
    const { changes, problems } = parse(text);
    if (problems.length === 0) navigate(withParameters({ ...changes, ...('since' in changes && { period: null }) }));
    return problems;
  };
  const removeLast = (): void => {
    const last = Object.keys(search.filters).at(-1);
    if (last !== undefined) navigate(withParameters({ [last]: null }));
  };
  return (
    <search class="bar">
      <TokenSearch
        label="Search inbound mail"
        placeholder={seesContents ? 'from, to, domain, words of the subject, or an id' : OPEN_FILTERS}
        offersFor={(at) => offersFor(at, values)}
        search={find}
        removeLast={removeLast}
      >
        <Chips search={search} />
      </TokenSearch>
      <Choice
        icon="clock"
        label="Time"
        value={search.period ?? 'chosen'}
        options={{ ...wordsOf(PERIODS), chosen: 'Chosen time' }}
        choose={(value) =>
          navigate(
            withParameters(
              value === 'chosen'
                ? { period: null, since: search.since ?? hoursAgo(PERIODS['30d'].hours) }
                : { period: value === 'all' ? null : value, since: null, until: null },
            ),
          )
        }
      />
      {search.period === null && <TimeRange since={search.since} until={search.until} />}
    </search>
  );
};
