import type { JSX } from 'preact';
import type { AuditCheckpoint, AuditEntry } from '../../http/resources/audit/checkpoints.ts';
import { CopyField, Fact, Facts } from '../components/facts.tsx';
import { Avatar, type IconName } from '../components/icons.tsx';
import { Download } from '../components/screen.tsx';
import type { Query } from '../data/api.ts';
import { linkTo, withParameters } from '../data/location.ts';
import { actorName } from '../data/names.ts';
import { count, useTimes } from '../data/time.ts';
import { Proof } from './checks.tsx';

/** Filters of the audit log. They use the API's parameter names, both in the URL and in the search field. */

const FILTERS = ['actor', 'key_id', 'domain_id', 'message_id', 'type'] as const;
type Filter = (typeof FILTERS)[number];

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
const wordsOf = (type: string): string => {
  const words = type.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Names of keys, domains and members by id. */
export type Names = ReadonlyMap<string, string>;

const ICONS: Readonly<Record<string, IconName>> = {
  key: 'key',
  worker: 'rotate',
  service: 'layers',
  recipient: 'mail',
  auditor: 'shield',
  operator: 'sliders',
  member: 'person',
};

const actorOf = ({ actor }: AuditEntry, names: Names): string =>
  `${actorName(actor, names)}${actor.secret_last4 === null ? '' : `, …${actor.secret_last4}`}`;

/** The subject of an entry. */
const subjectOf = ({ data, stream }: AuditEntry, names: Names): string => {
  const ids = [data.keyId, data.domainId].filter((id) => typeof id === 'string');
  const named = ids.map((id) => names.get(id)).find((name) => name !== undefined);
  return named ?? stream.slice(stream.indexOf('-') + 1);
};

interface RowProps {
  readonly entry: AuditEntry;
  readonly names: Names;
  readonly isSelected: boolean;
}

export const EntryRow = ({ entry, names, isSelected }: RowProps): JSX.Element => {
  const times = useTimes();
  return (
    <a href={withParameters({ entry: entry.event_id })} {...(isSelected && { 'aria-current': 'true' })}>
      <time dateTime={entry.occurred_at}>{times.clock(entry.occurred_at)}</time>
      <Avatar
        name={names.get(entry.actor.type === 'member' ? (entry.actor.id ?? '') : '') ?? null}
        icon={ICONS[entry.actor.type] ?? 'key'}
        title={entry.actor.type}
      />
      <span class="what">
        {wordsOf(entry.type)} by <bdi>{actorOf(entry, names)}</bdi>
        <small>
          <bdi class="ell">{subjectOf(entry, names)}</bdi>
        </small>
      </span>
      <code>{count(entry.leaf_index)}</code>
    </a>
  );
};

/** The screen of an entry's subject. */
const screenOf = ({ stream, leaf_index: index }: AuditEntry) => {
  const id = stream.slice(stream.indexOf('-') + 1);
  const at = { at: `leaf:${index}` };
  if (id.startsWith('key_'))
    return { link: linkTo(`/keys/${id}`, at), word: 'See the key as it was', report: `api-keys/${id}` };
  if (id.startsWith('msg_'))
    return { link: linkTo(`/messages/${id}`, at), word: 'See the message as it was', report: `messages/${id}` };
  return id.startsWith('dom_')
    ? { link: linkTo(`/domains/${id}`, at), word: 'See the domain as it was', report: null }
    : null;
};

interface EntryProps {
  readonly entry: AuditEntry;
  readonly names: Names;
  readonly newest: AuditCheckpoint | undefined;
}

const Reports = ({ report }: { readonly report: string }): JSX.Element => (
  <Fact name="Full history, with proofs">
    <span class="states">
      {(['pdf', 'html', 'csv'] as const).map((format) => (
        <Download
          key={format}
          word={format.toUpperCase()}
          path={`/v1/audit/reports/${report}`}
          query={{ format }}
          accept="*/*"
          name={`${report.slice(report.indexOf('/') + 1)}.${format}`}
          tone="small"
        />
      ))}
    </span>
  </Fact>
);

/** Shows the entry as stored, with its actor, origin and proof. */
export const EntryDetails = ({ entry, names, newest }: EntryProps): JSX.Element => {
  const times = useTimes();
  const screen = screenOf(entry);
  return (
    <section class="entry" aria-label="Entry">
      <h2>{wordsOf(entry.type)}</h2>
      <Facts>
        <Fact name="Actor">
          <bdi>{actorOf(entry, names)}</bdi>
          {entry.actor.secret !== null && <span class="muted">, secret number {entry.actor.secret}</span>}
        </Fact>
        {entry.address !== null && (
          <Fact name="From">
            <bdi>{entry.address}</bdi>
          </Fact>
        )}
        <Fact name="When">{times.full(entry.occurred_at)}</Fact>
        {entry.request_id !== null && (
          <Fact name="Request">
            <CopyField text={entry.request_id} name="request id" />
          </Fact>
        )}
        {screen !== null && (
          <Fact name="After this entry">
            <a class="lnk" href={screen.link}>
              {screen.word}
            </a>
          </Fact>
        )}
        {screen !== null && screen.report !== null && <Reports report={screen.report} />}
      </Facts>
      <Proof key={entry.event_id} entry={entry} newest={newest} />
      <div class="proof stored">
        <h2>Stored entry</h2>
        <p class="muted">
          Entry {count(entry.leaf_index)}, revision {entry.revision} of
        </p>
        <CopyField text={entry.stream} name="stream" />
        <pre class="json">{JSON.stringify(entry.data, null, 1)}</pre>
      </div>
    </section>
  );
};
