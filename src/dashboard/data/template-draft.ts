import { useEffect, useRef, useState } from 'preact/hooks';
import type { SerializedContent, SerializedRendering, SerializedWholeTemplate } from '../../http/schemas/template.ts';
import { ApiFault, request, send } from './api.ts';

/**
 * The draft of a template while it is written: what is typed is shown at once and saved a moment later. It is saved only
 * over what it was read from, so that two people do not overwrite each other.
 */

/** Less would save half words; more would leave the preview behind. */
const SAVE_AFTER_MS = 700;

type Edits = Partial<SerializedContent>;

export interface Draft {
  /** As it was last read or saved; null: not yet. */
  readonly template: SerializedWholeTemplate | null;
  /** With what is typed. */
  readonly content: SerializedContent | null;
  /** `conflict`: somebody else has changed it. */
  readonly state: 'saved' | 'unsaved' | 'saving' | 'conflict';
  /** Changes when another state is saved. */
  readonly revision: string | null;
  /** Changes when it is read again, and what was typed is dropped. */
  readonly epoch: number;
  readonly error: Error | null;
  change(edits: Edits): void;
  /** Saves what is not saved yet. @throws {ApiFault} */
  settle(): Promise<void>;
  /** Reads it again, and drops what is not saved. */
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

/** What was typed since. */
const without = (edits: Edits, sent: Edits): Edits =>
  Object.fromEntries(Object.entries(edits).filter(([field, value]) => sent[field as keyof Edits] !== value));

export const useDraft = (id: string): Draft => {
  const path = `/v1/templates/${id}`;
  const [read, setRead] = useState<Read | null>(null);
  const [edits, setEdits] = useState<Edits>({});
  const [state, setState] = useState<Draft['state']>('saved');
  const [epoch, setEpoch] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  // What a save that began earlier must see.
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
      setError(refused as Error); // of send
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
      setError(refused as Error); // of send
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
      void settle().catch(() => undefined); // another screen is shown: what was typed is kept
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

/** Of the draft when there is no version. */
export type RenderedPart = {
  readonly version?: number;
  readonly locale?: string;
};

export interface Rendering {
  readonly rendered: SerializedRendering | null;
  /** What is rendered, and as of which change of it. */
  readonly shown: { readonly asked: RenderedPart; readonly revision: string } | null;
  readonly error: Error | null;
}

/** What a message would be. @param revision of what is rendered; null: nothing yet. */
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
