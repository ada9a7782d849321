import { LRUCache } from 'lru-cache';
import { createWorkerThreads } from '../async/async.ts';
import { htmlToText } from './html-to-text.ts';

/** Smaller bodies are converted inline (about half a ms), larger ones in a thread. */
const INLINE_CHARACTERS_MAX = 20_000;
/** A megabyte takes 25 ms, and a hostile one 150 ms. After this limit, the message is sent without a text part. */
const RUN_MS_MAX = 500;
/**
 * A message that waits longer is also sent without a text part. Higher: the wait uses up the time of the delivery
 * attempt.
 */
const WAIT_MS_MAX = 20_000;
const WAITING_MAX = 256;
const THREADS = 1;
/**
 * Cached html and its text, at most two bytes per character. The text of bulk mail is derived once for all recipients.
 */
const RECENT_CHARACTERS_MAX = 1_000_000;
/** V8 hashes longer keys by their length alone. */
const RECENT_HTML_CHARACTERS_MAX = 16_000;

interface Body {
  readonly html?: string | undefined;
  readonly text?: string | undefined;
}

/** Derives the plain text of mail. */
export interface TextAlternatives {
  /** The body's own text, or text derived from its html; empty if none can be derived. */
  of(body: Body, owner: string): Promise<string> | string;
  close(): Promise<void>;
}

/** The text part is optional: a failure to derive it must not stop the message. */
const orNothing = (derive: () => string): string => {
  try {
    return derive();
  } catch {
    return '';
  }
};

/** Derives plain text from HTML inline or in a thread. Owners (organizations) take turns. */
export const createTextAlternatives = (): TextAlternatives => {
  const workers = createWorkerThreads<{ readonly job: 'derive-text'; readonly html: string }, string>({
    entry: new URL('./html-thread.ts', import.meta.url),
    threads: THREADS,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });
  const deriveNow = (html: string): string => orNothing(() => htmlToText(html));
  const recent = new LRUCache<string, string>({
    maxSize: RECENT_CHARACTERS_MAX,
    sizeCalculation: (text, html) => text.length + html.length + 1,
    memoMethod: deriveNow,
  });
  const deriveInline = (html: string): string =>
    html.length > RECENT_HTML_CHARACTERS_MAX ? deriveNow(html) : recent.memo(html);
  const derive = (html: string, owner: string): Promise<string> | string =>
    html.length <= INLINE_CHARACTERS_MAX
      ? deriveInline(html)
      : workers.run({ job: 'derive-text', html }, owner).catch(() => '');
  /** A message that is sent as one copy per recipient has one text for all copies. */
  const derived = new WeakMap<Body, Promise<string> | string>();
  return {
    of: (body, owner) => {
      const { text, html = '' } = body;
      if (text !== undefined) return text;
      const known = derived.get(body) ?? derive(html, owner);
      derived.set(body, known);
      return known;
    },
    close: workers.close,
  };
};
