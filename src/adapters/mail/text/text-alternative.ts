import type { MessageBody } from '../../../domain/ports/contents.ts';
import { createWorkerThreads } from '../../worker-threads.ts';
import { htmlToText } from './html-to-text.ts';

/** Converted at once up to here (about half a ms); larger bodies go to a thread. */
const INLINE_CHARACTERS_MAX = 20_000;
/**
 * A megabyte takes 25 ms, and 150 ms where it is made to be slow. After this the message leaves without a text part,
 * which readers forgive.
 */
const RUN_MS_MAX = 500;
/** The same happens to a message whose turn does not come: much longer, and the attempt's time is over. */
const WAIT_MS_MAX = 20_000;
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
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });
  /** A domain is one organization's. */
  const ownerOf = ({ from }: MessageBody): string => from.address.slice(from.address.lastIndexOf('@') + 1);
  const derive = (html: string, body: MessageBody): Promise<string> | string =>
    html.length <= INLINE_CHARACTERS_MAX
      ? orNothing(() => htmlToText(html))
      : workers.run(html, ownerOf(body)).catch(() => '');
  /** A message that leaves in a copy for each recipient has one text for all of them. */
  const derived = new WeakMap<MessageBody, Promise<string> | string>();
  return {
    of: (body) => {
      const { text, html = '' } = body;
      if (text !== undefined) return text;
      const known = derived.get(body) ?? derive(html, body);
      derived.set(body, known);
      return known;
    },
    close: workers.close,
  };
};
