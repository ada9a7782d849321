import type { JSX } from 'preact';
import type { SerializedTemplateDiff } from '../../http/schemas/template.ts';
import { useResource } from '../data/queries.ts';
import { Fault, Skeleton } from './states.tsx';

type Change = SerializedTemplateDiff['changes'][number];
type LineChange = NonNullable<Change['lines']>[number];

const written = (value: unknown): string => {
  if (value === null || value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
};

/** An old line and a new line for each change. */
const linesOf = ({ from, to, lines }: Change): readonly LineChange[] =>
  lines ?? [
    { kind: 'removed', text: written(from) },
    { kind: 'added', text: written(to) },
  ];

const flipped = (change: Change): Change => ({
  ...change,
  from: change.to,
  to: change.from,
  lines:
    change.lines?.map(({ kind, text }) => ({
      text,
      kind: kind === 'same' ? kind : kind === 'added' ? 'removed' : 'added',
    })) ?? null,
});

const SIGNS = { added: '+', removed: '−', same: ' ' } as const;
const WORDS = { added: 'added: ', removed: 'removed: ', same: '' } as const;

interface DiffProps {
  readonly id: string;
  readonly from: number;
  readonly to: number | 'draft';
}

/** Differences between two versions, or a version and the draft, by part and line. */
export const TemplateDiff = ({ id, from, to }: DiffProps): JSX.Element => {
  const isDraft = to === 'draft';
  // The API compares a version with something else, so a comparison of the draft with a version is reversed.
  const { data, error } = useResource<SerializedTemplateDiff>({
    path: `/v1/templates/${id}/versions/${isDraft ? from : to}/diff`,
    query: { with: isDraft ? to : from },
  });
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <Skeleton rows={4} />;
  const changes = isDraft ? data.changes.map(flipped) : data.changes;
  return (
    <section class="card compared" aria-label="What changed">
      <header>
        <h2>
          From version {from} to {isDraft ? 'the draft' : `version ${to}`}
        </h2>
      </header>
      {changes.length === 0 && <p class="pad muted">Nothing: they are the same.</p>}
      {changes.map((change) => (
        <div class="change" key={change.field}>
          <h3 class="mono">{change.field}</h3>
          <pre>
            {linesOf(change).map(({ kind, text }, index) => (
              <div class={kind} key={`${index} ${kind}`}>
                <span aria-hidden="true">{SIGNS[kind]} </span>
                <span class="vh">{WORDS[kind]}</span>
                <bdi>{text}</bdi>
              </div>
            ))}
          </pre>
        </div>
      ))}
    </section>
  );
};
