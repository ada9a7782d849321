import type { MessageBody } from '../../../domain/contents.ts';
import { createWorkerThreads } from '../../worker-threads.ts';
import { htmlToText } from './html-to-text.ts';

/** Converted at once up to here (about half a ms); larger bodies go to a thread. */
const INLINE_CHARACTERS_MAX = 20_000;
/**
 * A megabyte takes 25 ms, and 150 ms where it is made to be slow. After this the message leaves without a text part,
 * which readers forgive.
 */
const TIME_LIMIT_MS = 5_000;
const WAITING_MAX = 256;
const THREADS = 1;

export interface TextAlternatives {
  /** The text of a message, derived from its html where none was given; empty where none can be derived. */
  of(body: MessageBody): Promise<string> | string;
  close(): Promise<void>;
}

/** A text part is a courtesy: what goes wrong in making it must not keep the mail. */
const orNothing = (derive: () => string): string => {
  try {
    return derive();
  } catch {
    return '';
  }
};

export const createTextAlternatives = (): TextAlternatives => {
  const workers = createWorkerThreads<string, string>({
    entry: new URL('./html-to-text-thread.ts', import.meta.url),
    threads: THREADS,
    timeLimitMs: TIME_LIMIT_MS,
    tasksMax: WAITING_MAX,
  });
  const derive = (html: string): Promise<string> | string =>
    html.length <= INLINE_CHARACTERS_MAX ? orNothing(() => htmlToText(html)) : workers.run(html).catch(() => '');
  /** A message that leaves in a copy for each recipient has one text for all of them. */
  const derived = new WeakMap<MessageBody, Promise<string> | string>();
  return {
    of: (body) => {
      const { text, html = '' } = body;
      if (text !== undefined) return text;
      const known = derived.get(body) ?? derive(html);
      derived.set(body, known);
      return known;
    },
    close: workers.close,
  };
};
