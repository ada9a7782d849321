import type { JSX } from 'preact';
import type { SerializedKeyHistoryEntry } from '../../http/resources/api-keys/key-events.ts';
import { Icon, type IconName, Mark } from '../components/icons.tsx';
import { Fault } from '../components/states.tsx';
import { actorName, useSenderNames } from '../data/names.ts';
import { useList } from '../data/queries.ts';
import { useTimes } from '../data/time.ts';

export type KeyHistoryEntry = SerializedKeyHistoryEntry;

const ICONS: Readonly<Record<KeyHistoryEntry['type'], IconName>> = {
  'api_key.created': 'plus',
  'api_key.updated': 'sliders',
  'api_key.rotated': 'rotate',
  'api_key.revoked': 'forbid',
  'api_key.expired': 'clock',
  'api_key.deleted': 'cross',
  'api_key.change_refused': 'forbid',
  'domain.deleted': 'globe',
};

const said = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  if (value === null) return 'never';
  return typeof value === 'object'
    ? Object.entries(value)
        .map((pair) => pair.join(' '))
        .join(', ')
    : String(value);
};

const Changes = ({ details }: Extract<KeyHistoryEntry, { type: 'api_key.updated' }>): JSX.Element => (
  <>
    {Object.entries(details).map(([name, change]) =>
      change === undefined ? null : (
        <p class="diff" key={name}>
          <span class="muted">{name.replaceAll('_', ' ')}</span> <bdi class="del">{said(change.from)}</bdi>{' '}
          <bdi class="ins">{said(change.to)}</bdi>
        </p>
      ),
    )}
  </>
);

const workedOrWorks = (until: string): string => (Date.parse(until) < Date.now() ? 'worked' : 'works');

const Sentence = ({ entry }: { readonly entry: KeyHistoryEntry }): JSX.Element => {
  const times = useTimes();
  switch (entry.type) {
    case 'api_key.created':
      return (
        <p>
          <b class="b">Created</b> with <span class="tag">{entry.details.permissions.join(', ')}</span>
        </p>
      );
    case 'api_key.updated':
      return (
        <>
          <p class="b">Changed</p>
          <Changes {...entry} />
        </>
      );
    case 'api_key.rotated':
      return (
        <p>
          <b class="b">Rotated.</b> The previous secret, …{entry.details.previous_last4},{' '}
          {entry.details.revoke_previous
            ? 'stopped working immediately.'
            : `${workedOrWorks(entry.details.previous_key_expires_at)} until ${times.short(entry.details.previous_key_expires_at)}.`}
        </p>
      );
    case 'api_key.revoked':
      return <p class="b">Revoked</p>;
    case 'api_key.expired':
      return <p class="b">Expired</p>;
    case 'api_key.deleted':
      return <p class="b">Deleted</p>;
    case 'api_key.change_refused':
      return (
        <p>
          <b class="b">Refused</b> to {entry.details.change} it: <code>{entry.details.code}</code>
        </p>
      );
    case 'domain.deleted':
      return <p class="b">Revoked with its domain</p>;
  }
};

interface EntryProps {
  readonly entry: KeyHistoryEntry;
  /** Names of keys and members by id. */
  readonly names: ReadonlyMap<string, string>;
  /** True if the entry is newer than the displayed moment. */
  readonly isLater: boolean;
}

const HistoryEntry = ({ entry, names, isLater }: EntryProps): JSX.Element => {
  const times = useTimes();
  return (
    <li class={`h line ${isLater ? 'future' : ''}`}>
      <time class="two small" dateTime={entry.at} title={times.full(entry.at)}>
        {times.date(entry.at)}, {times.clock(entry.at)}
      </time>
      {entry.type === 'api_key.change_refused' ? (
        <Mark state="fault" />
      ) : (
        <span class="node2">
          <Icon name={ICONS[entry.type]} />
        </span>
      )}
      <div>
        <Sentence entry={entry} />
      </div>
      <span class="by r quiet nw">
        <bdi>{actorName(entry.actor, names)}</bdi>
      </span>
    </li>
  );
};

interface HistoryProps {
  readonly entries: readonly KeyHistoryEntry[];
  readonly list: ReturnType<typeof useKeyHistory>;
  /** ISO 8601; null: now. */
  readonly upTo: string | null;
}

export const useKeyHistory = (id: string) =>
  useList<KeyHistoryEntry>({ path: `/v1/api-keys/${id}/history`, query: { limit: 50 } });

/** History of a key, newest first. In the past, a line separates later entries. */
export const KeyHistory = ({ entries, list, upTo }: HistoryProps): JSX.Element => {
  const times = useTimes();
  const names = useSenderNames();
  const later = upTo === null ? [] : entries.filter(({ at }) => at > upTo);
  return (
    <section class="card">
      <header>
        <h2>History</h2>
      </header>
      {list.error !== null && <Fault error={list.error} />}
      <ol>
        {later.map((entry) => (
          <HistoryEntry key={entry.id} entry={entry} names={names} isLater />
        ))}
        {upTo !== null && (
          <li class="cut flex line">
            <Icon name="clock" />
            Up to {times.full(upTo)}
          </li>
        )}
        {entries.slice(later.length).map((entry) => (
          <HistoryEntry key={entry.id} entry={entry} names={names} isLater={false} />
        ))}
      </ol>
      {list.hasNextPage && (
        <button type="button" class="btn" onClick={() => void list.fetchNextPage()}>
          Show older
        </button>
      )}
    </section>
  );
};
