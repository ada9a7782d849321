import type { JSX } from 'preact';
import type { AuditCheckpoint, AuditEntry } from '../../http/resources/audit/checkpoints.ts';
import { CopyField, Fact, Facts } from '../components/facts.tsx';
import { Avatar, type IconName } from '../components/icons.tsx';
import { Download } from '../components/screen.tsx';
import { linkTo, withParameters } from '../data/location.ts';
import { actorName } from '../data/names.ts';
import { count, useTimes } from '../data/time.ts';
import { Proof } from './checks.tsx';

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

const ACTORS: Readonly<Record<string, string>> = {
  operator: 'The operator',
  service: 'The service',
  recipient: 'A recipient',
};

/** The name of the actor, as the beginning of a sentence. */
const actorOf = ({ actor }: AuditEntry, names: Names): string => {
  const name = actor.name ?? names.get(actor.id ?? '');
  const { [actor.type]: word } = ACTORS;
  if (name === undefined && word !== undefined) return word;
  const shown = name ?? actorName(actor, names);
  return name === undefined ? `${shown.charAt(0).toUpperCase()}${shown.slice(1)}` : shown;
};

/** True if a list or page showed addresses of recipients to the actor. */
export const showsAddresses = ({ type, data }: AuditEntry): boolean => type === 'DataRead' && data.what === 'addresses';

/** The name of what an entry is about, or else its id; null: the actor itself, or the organization. */
const subjectOf = (entry: AuditEntry, names: Names): string | null => {
  const { subject, actor, data, type } = entry;
  if (showsAddresses(entry)) return String(data.subjectId);
  if (type === 'AuditExported') return `entries ${count(Number(data.from))} to ${count(Number(data.to))}`;
  if (subject === null || subject.id === actor.id) return null;
  return subject.name ?? names.get(subject.id) ?? subject.id;
};

/** From where, if the entry is about nothing else. */
const originOf = ({ address }: AuditEntry): string | null => (address === null ? null : `from ${address}`);

interface RowProps {
  /** Entries that the row stands for. */
  readonly run: readonly AuditEntry[];
  /** The newest of them. */
  readonly entry: AuditEntry;
  readonly names: Names;
  readonly isSelected: boolean;
}

export const EntryRow = ({ run, entry, names, isSelected }: RowProps): JSX.Element => {
  const times = useTimes();
  const oldest = run.length > 1 ? run.at(-1) : undefined;
  return (
    <a
      class="line hoverable"
      href={withParameters({ entry: entry.event_id })}
      {...(isSelected && { 'aria-current': 'true' })}
    >
      <time class="two small" dateTime={entry.occurred_at}>
        {times.clock(entry.occurred_at)}
      </time>
      <Avatar
        name={entry.actor.type === 'member' ? actorOf(entry, names) : null}
        icon={ICONS[entry.actor.type] ?? 'key'}
        title={entry.actor.type}
      />
      <span class="what">
        <bdi>{actorOf(entry, names)}</bdi> {entry.action}
        <small>
          {oldest === undefined ? (
            <bdi class="ell">{subjectOf(entry, names) ?? originOf(entry) ?? ''}</bdi>
          ) : (
            `${count(run.length)} times since ${times.clock(oldest.occurred_at)}`
          )}
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
    <section class="entry det" aria-label="Entry">
      <h2>{wordsOf(entry.type)}</h2>
      <Facts>
        <Fact name="Actor">
          <bdi>{actorOf(entry, names)}</bdi>
          {entry.actor.secret_last4 !== null && <span class="muted">, …{entry.actor.secret_last4}</span>}
          {entry.actor.secret !== null && <span class="muted">, secret number {entry.actor.secret}</span>}
        </Fact>
        {subjectOf(entry, names) !== null && (
          <Fact name="About">
            <bdi>{subjectOf(entry, names)}</bdi>
          </Fact>
        )}
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
