import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  SerializedContent,
  SerializedRendering,
  SerializedWholeTemplate,
} from '../../http/resources/templates/template.ts';
import { Status } from '../components/icons.tsx';
import { type Looks, LooksChoice, MailFrame, useLooks } from '../components/mail-frame.tsx';
import { Empty, Fault } from '../components/states.tsx';
import { useMay } from '../data/access.ts';
import { ApiFault, request, send, urlOf } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { dropHolds, useHold, usePlace, withParameters } from '../data/location.ts';
import { useStore } from '../data/store.ts';
import { withoutExample } from './source.tsx';

/**
 * The draft of a template during editing. Input shows at once and is saved after a short delay. A save names the
 * revision it is based on, so that two people cannot overwrite each other.
 */

/** Shorter: half-typed words are saved. Longer: the preview lags behind. */
const SAVE_AFTER_MS = 700;

type Edits = Partial<SerializedContent>;

export interface Draft {
  /** Last loaded or saved state; null: not loaded yet. */
  readonly template: SerializedWholeTemplate | null;
  /** The content including unsaved input. */
  readonly content: SerializedContent | null;
  /** `conflict`: another member has changed the draft. */
  readonly state: 'saved' | 'unsaved' | 'saving' | 'conflict';
  /** Unsaved input. */
  readonly edits: Edits;
  /** Changes with every saved state. */
  readonly revision: string | null;
  /** Changes when the draft is reloaded and unsaved input is dropped. */
  readonly epoch: number;
  readonly error: Error | null;
  change(edits: Edits): void;
  /** Drops unsaved input. */
  discard(): void;
  /** Saves pending changes. @throws {ApiFault} */
  settle(): Promise<void>;
  /** Reloads the draft and drops unsaved input. */
  reload(): Promise<void>;
  /** Saves unsaved input over the version of another person. Parts that were not edited stay theirs. */
  keepMine(): Promise<void>;
}

interface LoadedTemplate {
  readonly template: SerializedWholeTemplate;
  readonly revision: string | null;
}

const readOf = async (response: Response): Promise<LoadedTemplate> => ({
  template: (await response.json()) as SerializedWholeTemplate,
  revision: response.headers.get('etag'),
});

const CONFLICTS: readonly string[] = ['precondition_failed', 'resource_conflict'];
const isConflict = (error: unknown): boolean => error instanceof ApiFault && CONFLICTS.includes(error.code);

const saved = async (path: string, body: Edits, revision: string | null): Promise<LoadedTemplate> =>
  readOf(await send(path, { method: 'PATCH', body, headers: revision === null ? {} : { 'if-match': revision } }));

/** Edits made after the ones that were sent. */
const without = (edits: Edits, sent: Edits): Edits =>
  Object.fromEntries(Object.entries(edits).filter(([field, value]) => sent[field as keyof Edits] !== value));

export const useDraft = (id: string): Draft => {
  const path = `/v1/templates/${id}`;
  const [read, setRead] = useState<LoadedTemplate | null>(null);
  const [edits, setEdits] = useState<Edits>({});
  const [state, setState] = useState<Draft['state']>('saved');
  const [epoch, setEpoch] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  // Current values for saves that started in an earlier render.
  const now = useRef({ read, edits });
  now.current = { read, edits };
  const saving = useRef<Promise<void>>(Promise.resolve());

  const keep = (found: LoadedTemplate, rest: Edits): void => {
    now.current = { read: found, edits: rest };
    setRead(found);
    setEdits(rest);
    setState(Object.keys(rest).length === 0 ? 'saved' : 'unsaved');
    setError(null);
  };
  const reload = async (): Promise<void> => {
    try {
      keep(await readOf(await send(path)), {});
      setEpoch((before) => before + 1);
    } catch (refused) {
      setError(refused as Error); // from send
    }
  };
  const save = async (): Promise<void> => {
    const sent = now.current.edits;
    if (Object.keys(sent).length === 0) return;
    setState('saving');
    try {
      const found = await saved(path, sent, now.current.read?.revision ?? null);
      keep(found, without(now.current.edits, sent));
    } catch (refused) {
      setState(isConflict(refused) ? 'conflict' : 'unsaved');
      setError(refused as Error); // from send
      throw refused;
    }
  };
  const settle = (): Promise<void> => {
    const mine = saving.current.catch(() => undefined).then(save);
    saving.current = mine;
    return mine;
  };

  const keepMine = async (): Promise<void> => {
    try {
      const theirs = await readOf(await send(path));
      now.current = { ...now.current, read: theirs };
      setRead(theirs);
      await settle();
      setEpoch((before) => before + 1);
    } catch (refused) {
      setError(refused as Error); // from send
    }
  };
  // Leaving saves the input, unless it cannot be saved now: then it would be lost.
  useHold('unsaved', state === 'conflict' || (state === 'unsaved' && error !== null));

  useEffect(() => void reload(), [id]);
  useEffect(() => {
    if (state !== 'unsaved' || Object.keys(edits).length === 0) return;
    const timer = setTimeout(() => void settle().catch(() => undefined), SAVE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [edits]);
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (Object.keys(now.current.edits).length > 0) event.preventDefault();
    };
    addEventListener('beforeunload', warn);
    return () => {
      removeEventListener('beforeunload', warn);
      void settle().catch(() => undefined); // saves pending input when another screen opens
    };
  }, [id]);

  return {
    template: read?.template ?? null,
    content: read === null ? null : { ...read.template.content, ...edits },
    state,
    edits,
    revision: read?.revision ?? null,
    epoch,
    error,
    change: (changed) => {
      setEdits({ ...now.current.edits, ...changed });
      setState((before) => (before === 'conflict' ? before : 'unsaved'));
    },
    discard: () => {
      dropHolds();
      if (read !== null) keep(read, {});
    },
    settle,
    reload,
    keepMine,
  };
};

/** Selects the draft if there is no version. */
type RenderedPart = {
  readonly version?: number;
  readonly locale?: string;
};

interface Rendering {
  readonly rendered: SerializedRendering | null;
  /** The displayed request and the revision that it shows. */
  readonly shown: { readonly asked: RenderedPart; readonly revision: string } | null;
  readonly error: Error | null;
}

/** Renders a message from the template. @param revision revision to render; null: nothing is loaded yet. */
export const useRendering = (id: string, asked: RenderedPart, revision: string | null): Rendering => {
  const [rendering, setRendering] = useState<Rendering>({ rendered: null, shown: null, error: null });
  const may = useMay('POST /v1/templates/:id/render');
  useEffect(() => {
    if (revision === null) return;
    const asking = new AbortController();
    const { signal } = asking;
    // A frame would show the refusal of a page as JSON.
    const rendering: Promise<SerializedRendering | null> = may
      ? request(`/v1/templates/${id}/render`, { method: 'POST', body: asked, signal })
      : send(`/v1/templates/${id}/preview`, { query: { ...asked }, signal }).then(() => null);
    rendering
      .then((rendered) => setRendering({ rendered, shown: { asked, revision }, error: null }))
      .catch((error: Error) => {
        if (!asking.signal.aborted) setRendering((before) => ({ ...before, error }));
      });
    return () => asking.abort();
  }, [id, JSON.stringify(asked), revision, may]);
  return rendering;
};

/** Preview of a message: as rendered, which needs a member's session, as text and as HTML source. */

const VIEWS = { page: 'Page', text: 'Text', source: 'Source' } as const;
type View = keyof typeof VIEWS;

const VERDICTS = { pass: 'active', warn: 'warning', fail: 'fault' } as const;

interface Views {
  readonly view: View;
  /** View to show if the URL names none. */
  readonly initial: View;
  readonly all: readonly View[];
}

/** A tab with only an API key cannot show the rendered mail: the browser requests it without the key. */
const useViews = (): Views => {
  const asked = usePlace().query.get('view');
  const all: readonly View[] = useStore(session) ? ['page', 'text', 'source'] : ['text', 'source'];
  const initial = all[0] ?? 'text';
  return { view: all.find((name) => name === asked) ?? initial, initial, all };
};

interface HeadProps {
  readonly rendered: SerializedRendering;
  readonly views: Views;
}

/** The message as an inbox lists it. */
const AsListed = ({ rendered, views: { view, initial, all } }: HeadProps): JSX.Element => (
  <div class="asread flex line wrap">
    <div>
      <h2>
        <bdi>{rendered.subject}</bdi>
      </h2>
      {rendered.from !== null && (
        <p class="muted">
          <bdi>{rendered.from}</bdi>
        </p>
      )}
    </div>
    <nav class="seg" aria-label="Preview">
      {all.map((name) => (
        <a
          key={name}
          href={withParameters({ view: name === initial ? null : name })}
          {...(name === view && { 'aria-current': 'true' })}
        >
          {VIEWS[name]}
        </a>
      ))}
    </nav>
  </div>
);

const Letter = ({ rendered, view }: { readonly rendered: SerializedRendering; readonly view: View }): JSX.Element => (
  <article class="letter" aria-label="Message text">
    <pre class={view}>
      <bdi>{view === 'source' ? rendered.html : (rendered.text ?? 'This message has no text.')}</bdi>
    </pre>
  </article>
);

/** For members who may look at a template, but not render it with values of their own. */
const OnlyPage = ({ looks, page }: { readonly looks: Looks; readonly page: JSX.Element }): JSX.Element => (
  <>
    <div class="phead flex line wrap">
      <LooksChoice looks={looks} />
    </div>
    <div class="desk">{page}</div>
  </>
);

const Verdict = ({
  rendered: { analysis, publish_problems: problems },
  error,
}: {
  readonly rendered: SerializedRendering;
  readonly error: Error | null;
}): JSX.Element => {
  if (error !== null) return <Status state="fault" word="Not rendered: fix the draft first" />;
  if (problems.length > 0) return <Status state="fault" word="Cannot be published: fix the draft first" />;
  return (
    <span title="Analysis score">
      <Status state={VERDICTS[analysis.verdict]} word={`${analysis.score} of 100`} />
    </span>
  );
};

const NotRendered = ({ error }: { readonly error: Error }): JSX.Element => {
  const mayEdit = useMay('PATCH /v1/templates/:id');
  const variables = withoutExample(error);
  if (variables.length === 0) return <Fault error={error} expected="Not rendered." />;
  return (
    <Empty icon="layout" title="No preview yet">
      {mayEdit ? 'In the table of variables, enter an example of ' : 'The template has no example of '}
      <bdi class="any mono">{variables.join(', ')}</bdi>.
    </Empty>
  );
};

interface Props extends Rendering {
  readonly id: string;
}

export const TemplatePreview = ({ id, rendered, shown, error }: Props): JSX.Element => {
  const looks = useLooks();
  const views = useViews();
  const { view } = views;
  if (shown === null) return <div class="desk">{error !== null && <NotRendered error={error} />}</div>;
  const page = (
    <MailFrame
      source={urlOf(`/v1/templates/${id}/preview`, shown.asked)}
      revision={shown.revision}
      looks={looks}
      title="Message preview"
    />
  );
  if (rendered === null) return <OnlyPage looks={looks} page={page} />;
  return (
    <>
      <div class="phead flex line wrap">
        {view === 'page' && <LooksChoice looks={looks} />}
        {!views.all.includes('page') && <span class="muted">Sign in as a member to see how it looks.</span>}
        <span class="sp" />
        <Verdict rendered={rendered} error={error} />
      </div>
      <AsListed rendered={rendered} views={views} />
      <div class={`desk ${error === null ? '' : 'dim'}`}>
        {view === 'page' ? page : <Letter rendered={rendered} view={view} />}
      </div>
    </>
  );
};
