import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type {
  SerializedContent,
  SerializedTemplateDiff,
  SerializedVersion,
  SerializedWholeTemplate,
  SerializedWholeVersion,
} from '../../http/resources/templates/template.ts';
import { IfAllowed } from '../components/action.tsx';
import { Icon, Pill } from '../components/icons.tsx';
import { ApiButton, Crumb } from '../components/screen.tsx';
import { Fault, Notice, ScreenFault, ScreenSkeleton, Skeleton } from '../components/states.tsx';
import { useMay } from '../data/access.ts';
import { ApiFault, request } from '../data/api.ts';
import { environmentOf, usePlace, withParameters } from '../data/location.ts';
import { useRead, useResource } from '../data/queries.ts';
import { createStore, useStore } from '../data/store.ts';
import { useTimes } from '../data/time.ts';
import { type Draft, TemplatePreview, useDraft, useRendering } from './preview.tsx';
import { problemsOf, TemplateSource } from './source.tsx';
import {
  AddLanguage,
  DeleteTemplate,
  PublishTemplate,
  RollBackTemplate,
  TestTemplate,
  templateLink,
} from './templates.tsx';
import { TemplateVariables } from './variables.tsx';

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

const Changes = ({ changes }: { readonly changes: readonly Change[] }): JSX.Element => (
  <>
    {changes.map((change) => (
      <div class="change line" key={change.field}>
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
  </>
);

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
      {changes.length === 0 && <p class="pad muted">No changes.</p>}
      <Changes changes={changes} />
    </section>
  );
};

const VERSIONS_SHOWN = 20;

const SAVED = {
  saved: 'Draft saved',
  unsaved: 'Not saved yet',
  saving: 'Saving',
  conflict: 'Changed elsewhere',
} as const;

interface VersionsProps {
  readonly id: string;
  readonly versions: readonly SerializedVersion[];
  readonly shown: number | null;
}

const Versions = ({ id, versions, shown }: VersionsProps): JSX.Element => {
  const times = useTimes();
  return (
    <nav class="vs" aria-label="Versions">
      <a href={templateLink(id)} {...(shown === null && { 'aria-current': 'true' })}>
        Draft
      </a>
      {versions.map(({ version, published, published_at: at }) => (
        <a
          key={version}
          href={templateLink(id, { version: String(version) })}
          {...(shown === version && { 'aria-current': 'true' })}
        >
          {version}
          <span class="muted">
            {published && 'live, '}
            {times.short(at)}
          </span>
        </a>
      ))}
    </nav>
  );
};

/** Id of the template whose draft cannot be published as it is; null: none is known. */
const unpublishable = createStore<string | null>(null);

/**
 * Publishing renders the draft with its examples, as the preview does. A variable without an example, which the error
 * names as `variables.name`, prevents only the preview.
 */
const isInvalid = (error: Error | null): boolean =>
  error instanceof ApiFault && (error.code === 'template_invalid' || Object.hasOwn(error.details, 'variables'));

/** A draft that the service would refuse cannot be published. */
const Publish = (props: Parameters<typeof PublishTemplate>[0]): JSX.Element => {
  const isRefused = useStore(unpublishable) === props.template.id && props.draft.state === 'saved';
  if (!isRefused) return <PublishTemplate {...props} />;
  return (
    <IfAllowed operation="POST /v1/templates/:id/publish">
      <button type="button" class="btn primary" disabled title="Fix the problems of the draft first">
        <Icon name="check" />
        Publish version {props.number}
      </button>
    </IfAllowed>
  );
};

interface HeadProps {
  readonly template: SerializedWholeTemplate;
  readonly draft: Draft;
  readonly newest: number;
  readonly version: number | null;
}

const Head = ({ template, draft, newest, version }: HeadProps): JSX.Element => {
  const { id, name, alias, published_version: live, has_draft: hasDraft } = template;
  const isUnpublished = live === null || hasDraft || draft.state !== 'saved';
  return (
    <>
      <Crumb path="/templates" word="Templates" id={alias} />
      <div class="head">
        <div>
          <div class="titled">
            <h1>
              <bdi>{name}</bdi>
            </h1>
            <Pill
              state={live === null ? 'pending' : 'active'}
              word={live === null ? 'Not published yet' : `Version ${live} is live`}
            />
          </div>
          <p class="sub" role="status">
            {version === null ? SAVED[draft.state] : `Version ${version}: published versions never change`}
          </p>
        </div>
        <div class="acts">
          <ApiButton requests={[`/v1/templates/${id}`, `/v1/templates/${id}/versions`]} />
          <DeleteTemplate draft={draft} template={template} />
          <TestTemplate draft={draft} template={template} version={version} />
          {version === null && isUnpublished && <Publish draft={draft} template={template} number={newest + 1} />}
          {version !== null && version !== live && (
            <RollBackTemplate draft={draft} template={template} version={version} />
          )}
        </div>
      </div>
    </>
  );
};

const linesIn = (value: unknown): readonly string[] => written(value).split('\n');

/** Lines that differ, between the beginning and the end that both texts share. */
const linesBetween = (theirs: unknown, mine: unknown): readonly LineChange[] => {
  const [left, right] = [linesIn(theirs), linesIn(mine)];
  const shorter = Math.min(left.length, right.length);
  let begin = 0;
  while (begin < shorter && left[begin] === right[begin]) begin += 1;
  let end = 0;
  while (end < shorter - begin && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  return [
    ...left.slice(begin, left.length - end).map((text) => ({ kind: 'removed' as const, text })),
    ...right.slice(begin, right.length - end).map((text) => ({ kind: 'added' as const, text })),
  ];
};

/** Compares the version of the other person with the text typed here. */
const Compared = ({ id, draft }: { readonly id: string; readonly draft: Draft }): JSX.Element => {
  const { data, error } = useRead(['conflict', id, draft.revision], (signal) =>
    request<SerializedWholeTemplate>(`/v1/templates/${id}`, { signal }),
  );
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <Skeleton rows={3} />;
  const edited = Object.keys(draft.edits) as (keyof SerializedContent)[];
  return (
    <section class="card compared" aria-label="Their version and yours">
      <header>
        <h2>Their version (−) and yours (+)</h2>
      </header>
      <Changes
        changes={edited.map((field) => ({
          field,
          from: data.content[field],
          to: draft.edits[field],
          lines: [...linesBetween(data.content[field], draft.edits[field])],
        }))}
      />
    </section>
  );
};

const Conflict = ({ id, draft }: { readonly id: string; readonly draft: Draft }): JSX.Element => {
  const [isCompared, compare] = useState(false);
  return (
    <>
      <Notice tone="wait" state="warning">
        <b>This draft was changed elsewhere.</b> Your latest input is not saved.{' '}
        <span class="sides wrap">
          <button type="button" class="btn small" onClick={() => void draft.keepMine()}>
            Keep mine
          </button>
          <button type="button" class="btn small" onClick={() => void draft.reload()}>
            Take theirs
          </button>
          <button type="button" class="btn small" aria-expanded={isCompared} onClick={() => compare(!isCompared)}>
            Compare
          </button>
        </span>
      </Notice>
      {isCompared && <Compared id={id} draft={draft} />}
    </>
  );
};

const Trouble = ({ id, draft }: { readonly id: string; readonly draft: Draft }): JSX.Element | null => {
  if (draft.error === null) return null;
  return draft.state === 'conflict' ? <Conflict id={id} draft={draft} /> : <Fault error={draft.error} />;
};

const numberIn = (query: URLSearchParams, name: string): number | null => {
  const number = Number(query.get(name));
  return Number.isSafeInteger(number) && number > 0 ? number : null;
};

interface WrittenProps {
  readonly id: string;
  readonly draft: Draft;
  readonly content: SerializedContent;
  /** Number of the version; null: the draft. */
  readonly version: number | null;
  /** Version to compare with; null: there is no other. */
  readonly other: number | null;
}

const Written = ({ id, draft, content, version, other }: WrittenProps): JSX.Element => {
  const place = usePlace();
  const locale = place.query.get('locale');
  const asked = { ...(version !== null && { version }), ...(locale !== null && { locale }) };
  const rendering = useRendering(id, asked, draft.revision);
  const isRefused =
    version === null && (isInvalid(rendering.error) || (rendering.rendered?.publish_problems.length ?? 0) > 0);
  useEffect(() => {
    unpublishable.set(isRefused ? id : null);
    return () => unpublishable.set(null);
  }, [id, isRefused]);
  const isReadOnly = !useMay('PATCH /v1/templates/:id') || version !== null || environmentOf(place) === 'test';
  const compare =
    other === null ? null : { href: withParameters({ compare: String(other) }), word: `Compare with ${other}` };
  return (
    <div class="ed frame">
      <TemplateSource
        key={version}
        content={content}
        epoch={draft.epoch}
        isReadOnly={isReadOnly}
        problems={problemsOf(rendering.error, rendering.rendered)}
        compare={compare}
        onChange={draft.change}
      />
      <div class="pane">
        <TemplatePreview id={id} {...rendering} />
        <TemplateVariables
          variables={content.variables}
          isReadOnly={isReadOnly}
          onChange={(variables) => draft.change({ variables })}
        />
        {!isReadOnly && (
          <div class="vars foot2">
            <AddLanguage draft={draft} />
          </div>
        )}
      </div>
    </div>
  );
};

const PastVersion = ({ id, draft, version }: Pick<WrittenProps, 'id' | 'draft'> & { readonly version: number }) => {
  const { data, error } = useResource<SerializedWholeVersion>({ path: `/v1/templates/${id}/versions/${version}` });
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <Skeleton />;
  const other = version > 1 ? version - 1 : null;
  return <Written id={id} draft={draft} content={data.content} version={version} other={other} />;
};

const Shown = ({ id, draft }: Pick<WrittenProps, 'id' | 'draft'>): JSX.Element | null => {
  const { query } = usePlace();
  const version = numberIn(query, 'version');
  const compared = numberIn(query, 'compare');
  if (compared !== null) return <TemplateDiff key={compared} id={id} from={compared} to={version ?? 'draft'} />;
  if (version !== null) return <PastVersion key={version} id={id} draft={draft} version={version} />;
  if (draft.content === null) return null;
  const other = draft.template?.published_version ?? null;
  return <Written id={id} draft={draft} content={draft.content} version={null} other={other} />;
};

/** A template: its draft, a preview and every published version. */
export const Template = ({ id }: { readonly id: string }): JSX.Element => {
  const place = usePlace();
  const version = numberIn(place.query, 'version');
  const draft = useDraft(id);
  const listed = useResource<List<SerializedVersion>>({
    path: `/v1/templates/${id}/versions`,
    query: { limit: VERSIONS_SHOWN },
  });
  const versions = listed.data?.data ?? [];
  const newest = versions[0]?.version ?? 0;
  const { template } = draft;
  if (template === null)
    return draft.error === null ? (
      <ScreenSkeleton title="Template" />
    ) : (
      <ScreenFault title="Template" error={draft.error} />
    );
  return (
    <>
      <Head template={template} draft={draft} newest={newest} version={version} />
      <Trouble id={id} draft={draft} />
      {environmentOf(place) === 'test' && (
        <Notice tone="plan" state="scheduled">
          <b>Templates are the same in both environments.</b> Switch to Live to edit them.
        </Notice>
      )}
      <Versions id={id} versions={versions} shown={version} />
      <Shown id={id} draft={draft} />
    </>
  );
};
