import type { JSX } from 'preact';
import type { AuditKind } from '../../http/resources/audit/actions.ts';
import { Choice, wordsOf } from '../components/choice.tsx';
import { Icon } from '../components/icons.tsx';
import { FilterChip } from '../components/screen.tsx';
import { TokenSearch } from '../components/token-search.tsx';
import type { Query } from '../data/api.ts';
import { navigate, withParameters } from '../data/location.ts';
import { useDomainNames, useKeyNames, useMemberNames } from '../data/names.ts';
import { useStore, zone } from '../data/store.ts';
import { useTimes } from '../data/time.ts';
import {
  anything,
  type FilterRule,
  named,
  type Offer,
  oneOf,
  type Problem,
  parseSearch,
  quoted,
  type SearchRules,
  time,
  type tokenAt,
  type Value,
} from '../data/tokens.ts';
import { TimeRange } from '../messages/search.tsx';

/** Filters of the audit log. They use the API's parameter names in the URL. */

const FILTERS = [
  ...(['q', 'person', 'key', 'actor', 'key_id', 'domain_id', 'message_id', 'type', 'address', 'kind'] as const),
  ...(['since', 'until'] as const),
] as const;
type Filter = (typeof FILTERS)[number];

const PERIODS = {
  '24h': { word: 'Last 24 hours', hours: 24 },
  '7d': { word: 'Last 7 days', hours: 168 },
  '30d': { word: 'Last 30 days', hours: 720 },
  all: { word: 'Any time', hours: null },
} as const;
type Period = keyof typeof PERIODS;

export interface AuditSearch {
  readonly filters: Readonly<Partial<Record<Filter, string>>>;
  readonly period: Period;
  /** False: events of workers are folded. */
  readonly hasWorkers: boolean;
}

const isPeriod = (text: string | null): text is Period => text !== null && Object.hasOwn(PERIODS, text);

/** Filters that ask for what workers do. */
const asksForWorkers = ({ actor = '', kind, message_id: messageId, type }: AuditSearch['filters']): boolean =>
  actor.startsWith('worker:') || kind === 'automatic' || messageId !== undefined || type !== undefined;

export const searchOf = (query: URLSearchParams): AuditSearch => {
  const given = FILTERS.map((name) => [name, query.get(name)] as const).filter(([, value]) => value !== null);
  const filters: AuditSearch['filters'] = Object.fromEntries(given);
  const period = query.get('period');
  return {
    filters,
    period: isPeriod(period) ? period : 'all',
    hasWorkers: query.get('workers') === 'include' || asksForWorkers(filters),
  };
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Parameters of `GET /v1/audit/log`. The time is rounded to the hour, so that repeated queries are identical. */
export const logQuery = ({ filters, period, hasWorkers }: AuditSearch): Query => {
  const { hours } = PERIODS[period];
  const since =
    hours === null ? null : new Date((Math.floor(Date.now() / HOUR_MS) - hours + 1) * HOUR_MS).toISOString();
  return { since, ...filters, workers: hasWorkers ? null : 'exclude', limit: 50 };
};

/** Complete: a kind that the API adds does not compile without a word. */
const KINDS: Readonly<Record<AuditKind, string>> = {
  changes: 'Changes',
  reads: 'Who read what',
  sign_ins: 'Sign-ins',
  mail: 'Mail',
  automatic: 'Automatic',
};

const ABOUT: Readonly<Record<string, string>> = {
  person: 'name or address of a member or auditor',
  key: 'name of an API key',
  domain: 'sending domain',
  address: 'public, private, loopback, an IP or a network',
  kind: 'changes, reads, sign_ins, mail, automatic',
  type: 'KeyRotated, or several with commas',
  actor: 'operator, service, worker:…',
  message: 'id of a message',
  since: '2d, today or a date',
  until: '2d, today or a date',
};

const ADDRESS_CLASSES = ['public', 'private', 'loopback'] as const;

const clientAddress = (value: string): Value =>
  /^[0-9a-f:.]+(?:\/\d{1,3})?$/i.test(value)
    ? { value }
    : oneOf('address', [...ADDRESS_CLASSES, '192.0.2.1', '192.0.2.0/24'])(value);

/** `key rotated` is `KeyRotated`. */
const eventType = (value: string): Value => ({
  value: value.replace(/(?:^|\s+)(\S)/g, (_all, letter: string) => letter.toUpperCase()),
});

const DOMAIN_ID = /^dom_[a-z2-7]{26}$/;
const KEY_ID = /^key_[a-z2-7]{26}$/;
const MESSAGE_ID = /^msg_[a-z2-7]{26}$/;

const GUESSES: readonly (readonly [RegExp, string])[] = [
  [KEY_ID, 'key_id'],
  [DOMAIN_ID, 'domain'],
  [MESSAGE_ID, 'message'],
  [/^(?:mbr|aud)_[a-z2-7]{26}$/, 'person'],
  [/^[^\s@:"]+@[^\s@"]+$/, 'person'],
  [/^\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?$/, 'address'],
  [/^(?:operator|service|recipient|(?:auditor|worker):\S+)$/, 'actor'],
];

const NO_NAMES: ReadonlyMap<string, string> = new Map();

const rule = (parameter: Filter, parse: FilterRule['parse'] = anything): FilterRule => ({ parameter, parse });

const rulesOf = (domains: ReadonlyMap<string, string>, isUtc: boolean): SearchRules => {
  const domain = rule('domain_id', named('domain', DOMAIN_ID, domains));
  const message = rule('message_id', named('message', MESSAGE_ID, NO_NAMES));
  return {
    filters: {
      person: rule('person'),
      key: rule('key'),
      key_id: rule('key_id', named('API key', KEY_ID, NO_NAMES)),
      actor: rule('actor'),
      q: rule('q'),
      domain,
      domain_id: domain,
      message,
      message_id: message,
      address: rule('address', clientAddress),
      kind: rule('kind', oneOf('kind', Object.keys(KINDS))),
      type: rule('type', eventType),
      since: rule('since', time('since', isUtc)),
      until: rule('until', time('until', isUtc)),
    },
    offered: Object.keys(ABOUT),
    guess: (text) => GUESSES.find(([pattern]) => pattern.test(text))?.[1] ?? null,
    words: 'q',
  };
};

/** Words of frequent actions. */
const ACTIONS = [
  'invited',
  'passkey',
  'rotated',
  'revoked',
  'deleted',
  'signed in',
  'exported',
  'suppressed',
  'erased',
];

interface Values {
  readonly people: readonly string[];
  readonly keys: readonly string[];
  readonly domains: readonly string[];
}

const offersFor = (token: ReturnType<typeof tokenAt>, { people, keys, domains }: Values): readonly Offer[] => {
  const typed = token.value.replaceAll('"', '').toLowerCase();
  const values: Readonly<Record<string, readonly string[]>> = {
    person: people,
    key: keys,
    domain: domains,
    address: ADDRESS_CLASSES,
    kind: Object.keys(KINDS),
    since: ['1h', '6h', 'today', 'yesterday', '7d', '4w'],
    until: ['1h', 'today', 'yesterday', '7d'],
    actor: ['operator', 'service', 'recipient'],
  };
  const { name, text } = token;
  if (name !== null)
    return (values[name] ?? [])
      .filter((value) => value.toLowerCase().includes(typed))
      .map((value) => ({ text: `${name}:${quoted(value)}` }))
      .filter((offer) => offer.text !== text);
  const words = Object.entries(ABOUT).filter(([word]) => word.startsWith(typed));
  const actions = typed === '' ? [] : ACTIONS.filter((word) => word.startsWith(typed) && word !== typed);
  return [
    ...actions.map((word) => ({ text: word, about: 'what was done' })),
    ...words.map(([word, about]) => ({ text: `${word}:`, about })),
  ];
};

const WORDS: Readonly<Partial<Record<Filter, string>>> = {
  q: 'words',
  key_id: 'key',
  domain_id: 'domain',
  message_id: 'message',
};

const Chips = ({ search }: { readonly search: AuditSearch }): JSX.Element => {
  const times = useTimes();
  const names = new Map([...useKeyNames(), ...useDomainNames(), ...useMemberNames()]);
  const shown = (name: string, value: string): string => {
    if ((name === 'since' || name === 'until') && !Number.isNaN(Date.parse(value))) return times.short(value);
    return names.get(value) ?? value;
  };
  return (
    <>
      {FILTERS.map((name) => {
        const { [name]: value } = search.filters;
        if (value === undefined || name === 'kind') return null;
        return (
          <FilterChip key={name} name={name} word={WORDS[name] ?? name} value={shown(name, value)} removed={name} />
        );
      })}
    </>
  );
};

/** Searches the log by words, persons, keys, addresses and time. */
export const AuditSearchBar = ({ search }: { readonly search: AuditSearch }): JSX.Element => {
  const [keys, domains, people] = [useKeyNames(), useDomainNames(), useMemberNames()];
  const isUtc = useStore(zone) === 'UTC';
  const rules = rulesOf(new Map([...domains].map(([id, name]) => [name, id])), isUtc);
  const values = { people: [...people.values()], keys: [...keys.values()], domains: [...domains.values()] };
  const find = (text: string): readonly Problem[] => {
    const { changes, problems } = parseSearch(text, rules);
    const period = 'since' in changes || 'until' in changes ? { period: null } : {};
    if (problems.length === 0) navigate(withParameters({ ...changes, ...period, entry: null }));
    return problems;
  };
  const removeLast = (): void => {
    const last = FILTERS.findLast((name) => search.filters[name] !== undefined && name !== 'kind');
    if (last !== undefined) navigate(withParameters({ [last]: null, entry: null }));
  };
  const { since = null, until = null } = search.filters;
  const isChosen = since !== null || until !== null;
  const choosePeriod = (value: string): void => {
    const changes =
      value === 'chosen'
        ? { period: null, since: new Date(Date.now() - DAY_MS).toISOString() }
        : { period: value, since: null, until: null };
    navigate(withParameters({ ...changes, entry: null }));
  };
  return (
    <search class="bar">
      <TokenSearch
        label="Search the log"
        placeholder="invited, passkey, person:, key:, or paste an id"
        offersFor={(token) => offersFor(token, values)}
        search={find}
        removeLast={removeLast}
      >
        <Chips search={search} />
      </TokenSearch>
      <Choice
        icon="filter"
        label="Kind"
        value={search.filters.kind ?? ''}
        options={{ '': 'Everything', ...KINDS }}
        choose={(kind) => navigate(withParameters({ kind: kind || null, entry: null }))}
      />
      <Choice
        icon="clock"
        label="Time"
        value={isChosen ? 'chosen' : search.period}
        options={{ ...wordsOf(PERIODS), chosen: 'Chosen time' }}
        choose={choosePeriod}
      />
      {isChosen && <TimeRange since={since} until={until} />}
      {!asksForWorkers(search.filters) && (
        <a class="btn" href={withParameters({ workers: search.hasWorkers ? null : 'include', entry: null })}>
          <Icon name="rotate" />
          {search.hasWorkers ? 'Hide worker events' : 'Show worker events'}
        </a>
      )}
    </search>
  );
};
