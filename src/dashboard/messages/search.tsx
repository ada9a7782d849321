import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedListedMessage } from '../../http/resources/messages/message.ts';
import type { SerializedSearchResult } from '../../http/resources/search.ts';
import { Choice, wordsOf } from '../components/choice.tsx';
import { DateField } from '../components/date-field.tsx';
import { Icon, STATES } from '../components/icons.tsx';
import { FilterChip } from '../components/screen.tsx';
import { Empty } from '../components/states.tsx';
import { TokenSearch } from '../components/token-search.tsx';
import { useMay, useSeesContents } from '../data/access.ts';
import { linkTo, navigate, withParameters } from '../data/location.ts';
import { type NamedResource, useDomainNames, useKeyNames } from '../data/names.ts';
import { useResource } from '../data/queries.ts';
import { useStore, zone } from '../data/store.ts';
import { useTimes } from '../data/time.ts';
import { type Offer, type Problem, quoted, type tokenAt, tokensIn } from '../data/tokens.ts';
import { NO_TEMPLATE } from '../statistics/data.ts';
import { BOUNCE_REASONS, OUTCOMES } from './outcome-words.ts';
import { ABOUT, CODES, MARKS, type Names, PROVIDERS, parseMessageSearch, STATUSES, STREAMS } from './search-rules.ts';
import { hoursAgo, type MessageSearch, messageIn, PERIODS } from './selection.ts';

/** First and last moment, shown if no preset period is selected. */
export const TimeRange = ({ since, until }: Pick<MessageSearch, 'since' | 'until'>): JSX.Element => (
  <>
    <DateField
      label="From"
      empty="any time"
      value={since}
      hasTime
      onDate={(at) => navigate(withParameters({ since: at, period: null }))}
    />
    <DateField
      label="To; empty: now"
      empty="now"
      value={until}
      hasTime
      onDate={(at) => navigate(withParameters({ until: at, since, period: null }))}
    />
  </>
);

const MONTH_HOURS = 720;

interface SearchProps {
  readonly search: MessageSearch;
  /** Visible messages. Their values are offered as suggestions. */
  readonly messages: readonly SerializedListedMessage[];
}

const TEMPLATES_MAX = 100;

const useTemplateNames = (): ReadonlyMap<string, string> => {
  const query = { limit: TEMPLATES_MAX };
  const { data } = useResource<List<NamedResource>>({
    path: '/v1/templates',
    query,
    enabled: useMay('GET /v1/templates'),
  });
  return new Map((data?.data ?? []).map(({ id, name }) => [id, name]));
};

/** Names by id, for filters that the API takes as ids. */
const useNames = (): Readonly<Record<string, ReadonlyMap<string, string>>> => ({
  key_id: useKeyNames(),
  domain_id: useDomainNames(),
  template_id: useTemplateNames(),
});

const inverted = (names: ReadonlyMap<string, string> | undefined): ReadonlyMap<string, string> =>
  new Map([...(names ?? [])].map(([id, name]) => [name, id]));

/** Shorter: requests while typing. Longer: completions come late. */
const PAUSE_MS = 150;
/** Input limit of the search endpoint. */
const LOOKED_UP_CHARACTERS_MAX = 320;

/** Tags of the last days that begin with the text of a token `tag:…`. */
const useTags = (token: string): readonly string[] => {
  const [asked, ask] = useState('');
  const [{ name = null, value = '' } = {}] = tokensIn(token);
  const text = name === 'tag' ? value.replaceAll('"', '').slice(0, LOOKED_UP_CHARACTERS_MAX) : '';
  useEffect(() => {
    const timer = setTimeout(() => ask(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data } = useResource<List<SerializedSearchResult>>({
    path: '/v1/search',
    query: { q: asked },
    enabled: asked !== '',
  });
  if (text === '') return [];
  const tags = (data?.data ?? []).filter(({ type }) => type === 'tag');
  return tags.flatMap(({ path }) => new URL(path, location.origin).searchParams.get('tag') ?? []);
};

const BEGINNINGS = ['1h', '6h', 'today', 'yesterday', '2d', '7d', '4w'] as const;
const ENDS = ['1h', 'today', 'yesterday', '2d', '7d'] as const;

type Values = Readonly<Record<string, readonly string[]>>;

const valuesOf = (names: Names, messages: SearchProps['messages'], tags: readonly string[]): Values => {
  const addresses = messages.flatMap(({ recipients }) => recipients.flatMap(({ address }) => address ?? []));
  return {
    status: [...STATUSES, ...MARKS],
    outcome: Object.keys(OUTCOMES),
    key: [...names.keys.keys()],
    domain: [...names.domains.keys()],
    template: [...names.templates.keys(), NO_TEMPLATE],
    tag: [...tags, ...messages.flatMap((message) => message.tags.map(({ name, value }) => `${name}:${value}`))],
    to: addresses,
    from: messages.flatMap(({ from }) => /<(?<address>[^<>]+)>$/.exec(from ?? '')?.groups?.address ?? from ?? []),
    subject: messages.flatMap(({ subject }) => subject ?? []),
    recipient_domain: addresses.flatMap((address) => address.split('@')[1] ?? []),
    provider: PROVIDERS,
    stream: STREAMS,
    bounce: Object.keys(BOUNCE_REASONS),
    code: CODES,
    since: BEGINNINGS,
    until: ENDS,
    outcome_since: BEGINNINGS,
    outcome_until: ENDS,
  };
};

/** Filters that the service refuses to roles without contents: a match would confirm a guess. */
const CONTENT_FILTERS = ['to', 'from', 'subject', 'metadata'];

/** @param others filters that the role may use. */
export const withoutContents = (filter: string, others = 'status, key, template, domain or an id'): string =>
  `You cannot search by ${filter}, because your role may not see mail contents. Use ${others}. Owners can allow it under Settings, Message contents.`;

interface Filtered {
  readonly filters: Readonly<Record<string, string | undefined>>;
}

/** The filters that roles without contents may not use. */
export const contentFiltersIn = (filters: Filtered['filters']): readonly string[] =>
  CONTENT_FILTERS.filter((name) => filters[name] !== undefined);

/** Filters of the address that the role may not use: they are not asked for, because the service would refuse them. */
export const useRefusedFilters = ({ filters }: Filtered): readonly string[] => {
  const refused = contentFiltersIn(filters);
  return useSeesContents() ? [] : refused;
};

interface RefusedProps {
  readonly names: readonly string[];
  /** Filters that the role may use. */
  readonly others?: string;
}

export const RefusedFilters = ({ names, others }: RefusedProps): JSX.Element | null =>
  names.length === 0 ? null : (
    <Empty
      icon="search"
      title="Your role cannot use this search"
      actions={
        <a class="btn" href={withParameters(Object.fromEntries(names.map((name) => [name, null])))}>
          Remove {names.join(', ')}
        </a>
      }
    >
      {withoutContents(names.join(' or '), others)}
    </Empty>
  );

/** Begins the values of outcomes among those of statuses. */
const OUTCOME = 'outcome:';

export const ANY_STATUS = { status: null, outcome: null, outcome_since: null, outcome_until: null } as const;

const choiceIn = (value: string) =>
  value.startsWith(OUTCOME)
    ? { status: null, outcome: value.slice(OUTCOME.length) }
    : { ...ANY_STATUS, status: value || null };

const aboutValue = (name: string, value: string): Offer['about'] =>
  name === 'bounce' ? BOUNCE_REASONS[value] : undefined;

const offer = (name: string, value: string): Offer => {
  const about = aboutValue(name, value);
  return { text: `${name}:${quoted(value)}`, ...(about !== undefined && { about }) };
};

/** Words of filters that begin like a token, then values of any filter that do. */
const offersForWord = (typed: string, values: Values): readonly Offer[] => {
  const words = Object.entries(ABOUT).filter(([word]) => word.startsWith(typed));
  const found =
    typed.length < 2
      ? []
      : Object.entries(values).flatMap(([name, all]) =>
          all.filter((value) => value.toLowerCase().startsWith(typed)).map((value) => offer(name, value)),
        );
  return [...words.map(([word, about]) => ({ text: `${word}:`, about })), ...found];
};

const offersFor = ({ name, value, text }: ReturnType<typeof tokenAt>, values: Values): readonly Offer[] => {
  const typed = value.replaceAll('"', '').toLowerCase();
  const found = name === null ? offersForWord(typed, values) : (values[name] ?? []).map((one) => offer(name, one));
  const matching =
    name === null ? found : found.filter((one) => one.text.replaceAll('"', '').toLowerCase().includes(typed));
  const distinct = new Map(matching.map((one) => [one.text, one]));
  distinct.delete(text);
  return [...distinct.values()];
};

export const wordOf = (filter: string): string => filter.replace('_id', '').replace(/^smtp_|^mailbox_/, '');

/** Active filters as chips. */
const Chips = ({ search, names }: Pick<SearchProps, 'search'> & { readonly names: ReturnType<typeof useNames> }) => {
  const times = useTimes();
  const { outcome_since = null, outcome_until = null, ...filters } = search.filters;
  const accepted = search.period === null ? { since: search.since, until: search.until } : { until: search.until };
  const bounds = { outcome_since, outcome_until, ...accepted };
  return (
    <>
      {Object.entries(filters).map(([name, value]) => (
        <FilterChip
          key={name}
          name={name}
          word={wordOf(name)}
          value={names[name]?.get(value) ?? value}
          removed={name}
        />
      ))}
      {Object.entries(bounds).map(
        ([name, at]) =>
          at !== null && (
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

/** Filters as words that can be typed, pasted and removed. */
export const MessageSearchBar = ({ search, messages }: SearchProps): JSX.Element => {
  const names = useNames();
  const [token, note] = useState('');
  const tags = useTags(token);
  const ids: Names = {
    keys: inverted(names.key_id),
    domains: inverted(names.domain_id),
    templates: inverted(names.template_id),
  };
  const values = valuesOf(ids, messages, tags);
  const { status, outcome } = search.filters;

  const isUtc = useStore(zone) === 'UTC';
  const seesContents = useSeesContents();
  const parse = (text: string) => {
    const parsed = parseMessageSearch(text, { names: ids, isUtc, outcome: outcome ?? null });
    const refused = seesContents ? undefined : CONTENT_FILTERS.find((filter) => filter in parsed.changes);
    if (refused === undefined) return parsed;
    return { ...parsed, problems: [{ message: withoutContents(refused), fixes: [''], from: 0, to: text.length }] };
  };
  const find = (text: string): readonly Problem[] => {
    const id = messageIn(text);
    const { changes, problems } = id === null ? parse(text) : { changes: {}, problems: [] };
    if (problems.length === 0) navigate(id === null ? withParameters(changes) : linkTo(`/messages/${id}`));
    return problems;
  };
  const removeLast = (): void => {
    const last = Object.keys(search.filters).at(-1);
    if (last !== undefined) navigate(withParameters({ [last]: null }));
  };

  return (
    <search class="bar">
      <TokenSearch
        label="Search messages"
        placeholder={
          seesContents
            ? 'to, status, tag, key, subject, or paste any id'
            : 'status, key, template, domain, or paste any id'
        }
        offersFor={(at) => offersFor(at, values)}
        onToken={note}
        search={find}
        removeLast={removeLast}
      >
        <Chips search={search} names={names} />
      </TokenSearch>
      <label class="btn choice">
        <Icon name="filter" />
        <span class="vh">Status</span>
        <select
          value={outcome === undefined ? (status ?? '') : `${OUTCOME}${outcome}`}
          onChange={(event) => navigate(withParameters(choiceIn(event.currentTarget.value)))}
        >
          <option value="">Any status</option>
          <optgroup label="Status of the message">
            {STATUSES.map((one) => (
              <option key={one} value={one}>
                {STATES[one].word}
              </option>
            ))}
          </optgroup>
          <optgroup label="Outcome of any recipient">
            {Object.entries(OUTCOMES).map(([one, word]) => (
              <option key={one} value={`${OUTCOME}${one}`}>
                {word}
              </option>
            ))}
          </optgroup>
        </select>
      </label>
      <Choice
        icon="clock"
        label="Time"
        value={search.period ?? 'chosen'}
        options={{ ...wordsOf(PERIODS), chosen: 'Chosen time' }}
        choose={(value) =>
          navigate(
            withParameters(
              value === 'chosen'
                ? { period: null, since: search.since ?? hoursAgo(MONTH_HOURS), until: null }
                : { period: value, since: null, until: null },
            ),
          )
        }
      />
      {search.period === null && <TimeRange since={search.since} until={search.until} />}
    </search>
  );
};
