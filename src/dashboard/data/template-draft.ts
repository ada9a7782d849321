import { useEffect, useRef, useState } from 'preact/hooks';
import type { SerializedContent, SerializedRendering, SerializedWholeTemplate } from '../../http/schemas/template.ts';
import { ApiFault, request, send } from './api.ts';

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
  /** Changes with every saved state. */
  readonly revision: string | null;
  /** Changes when the draft is reloaded and unsaved input is dropped. */
  readonly epoch: number;
  readonly error: Error | null;
  change(edits: Edits): void;
  /** Saves pending changes. @throws {ApiFault} */
  settle(): Promise<void>;
  /** Reloads the draft and drops unsaved input. */
  reload(): Promise<void>;
}

interface Read {
  readonly template: SerializedWholeTemplate;
  readonly revision: string | null;
}

const readOf = async (response: Response): Promise<Read> => ({
  template: (await response.json()) as SerializedWholeTemplate,
  revision: response.headers.get('etag'),
});

const isConflict = (error: unknown): boolean => error instanceof ApiFault && error.code === 'precondition_failed';

const saved = async (path: string, body: Edits, revision: string | null): Promise<Read> =>
  readOf(await send(path, { method: 'PATCH', body, headers: revision === null ? {} : { 'if-match': revision } }));

/** Edits made after the ones that were sent. */
const without = (edits: Edits, sent: Edits): Edits =>
  Object.fromEntries(Object.entries(edits).filter(([field, value]) => sent[field as keyof Edits] !== value));

export const useDraft = (id: string): Draft => {
  const path = `/v1/templates/${id}`;
  const [read, setRead] = useState<Read | null>(null);
  const [edits, setEdits] = useState<Edits>({});
  const [state, setState] = useState<Draft['state']>('saved');
  const [epoch, setEpoch] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  // Current values for saves that started in an earlier render.
  const now = useRef({ read, edits });
  now.current = { read, edits };
  const saving = useRef<Promise<void>>(Promise.resolve());

  const keep = (found: Read, rest: Edits): void => {
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
    revision: read?.revision ?? null,
    epoch,
    error,
    change: (changed) => {
      setEdits({ ...now.current.edits, ...changed });
      setState((before) => (before === 'conflict' ? before : 'unsaved'));
    },
    settle,
    reload,
  };
};

/** Selects the draft if there is no version. */
export type RenderedPart = {
  readonly version?: number;
  readonly locale?: string;
};

export interface Rendering {
  readonly rendered: SerializedRendering | null;
  /** The displayed request and the revision that it shows. */
  readonly shown: { readonly asked: RenderedPart; readonly revision: string } | null;
  readonly error: Error | null;
}

/** Renders a message from the template. @param revision revision to render; null: nothing is loaded yet. */
export const useRendering = (id: string, asked: RenderedPart, revision: string | null): Rendering => {
  const [rendering, setRendering] = useState<Rendering>({ rendered: null, shown: null, error: null });
  useEffect(() => {
    if (revision === null) return;
    const asking = new AbortController();
    request<SerializedRendering>(`/v1/templates/${id}/render`, { method: 'POST', body: asked, signal: asking.signal })
      .then((rendered) => setRendering({ rendered, shown: { asked, revision }, error: null }))
      .catch((error: Error) => {
        if (!asking.signal.aborted) setRendering((before) => ({ ...before, error }));
      });
    return () => asking.abort();
  }, [id, JSON.stringify(asked), revision]);
  return rendering;
};
