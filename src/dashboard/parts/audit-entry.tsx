import type { JSX } from 'preact';
import type { AuditCheckpoint, AuditEntry } from '../../http/schemas/audit.ts';
import { wordsOf } from '../data/audit-search.ts';
import { linkTo, withParameters } from '../data/location.ts';
import { actorName } from '../data/names.ts';
import { count, useTimes } from '../data/time.ts';
import { Proof } from './audit-checks.tsx';
import { Download } from './download.tsx';
import { CopyField, Fact, Facts } from './facts.tsx';
import { Avatar } from './icons.tsx';
import type { IconName } from './shapes.ts';

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
  <Fact name="Report of its whole life, with proofs">
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
        <Fact name="Who">
          <bdi>{actorOf(entry, names)}</bdi>
          {entry.actor.secret !== null && <span class="muted">, its value number {entry.actor.secret}</span>}
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
          <Fact name="Right after it">
            <a class="lnk" href={screen.link}>
              {screen.word}
            </a>
          </Fact>
        )}
        {screen !== null && screen.report !== null && <Reports report={screen.report} />}
      </Facts>
      <Proof key={entry.event_id} entry={entry} newest={newest} />
      <div class="proof stored">
        <h2>As it is stored</h2>
        <p class="muted">
          Entry {count(entry.leaf_index)}, revision {entry.revision} of
        </p>
        <CopyField text={entry.stream} name="stream" />
        <pre class="json">{JSON.stringify(entry.data, null, 1)}</pre>
      </div>
    </section>
  );
};
