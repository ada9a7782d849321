import { type HtmlChecker, HtmlCheckUnavailable, type HtmlProblem } from '../../domain/html-checker.ts';
import { createWorkerThreads, ThreadUnavailable } from '../worker-threads.ts';
import { checkHtml } from './check-html.ts';

/** Checked at once up to here (some 0.6 ms); larger bodies go to a thread. Handing one over costs about 50 µs. */
const INLINE_CHARACTERS_MAX = 20_000;
/** A megabyte takes 50 ms. Shorter refuses good mail on a busy machine, longer keeps a client waiting for nothing. */
const TIME_LIMIT_MS = 5_000;
/** Bodies held while they wait; each is at most a megabyte. */
const WAITING_MAX = 64;
const THREADS = 1;

const unavailable = (error: unknown): never => {
  if (error instanceof ThreadUnavailable) throw new HtmlCheckUnavailable(`html was not checked: ${error.message}`);
  throw error;
};

export interface HtmlCheckerOptions {
  readonly threads?: number;
  readonly timeLimitMs?: number;
}

/** Small bodies are checked where they are, large ones in a thread, so that the event loop never waits for one. */
export const createHtmlChecker = (options: HtmlCheckerOptions = {}): HtmlChecker => {
  const workers = createWorkerThreads<string, readonly HtmlProblem[]>({
    entry: new URL('./check-html-thread.ts', import.meta.url),
    threads: options.threads ?? THREADS,
    timeLimitMs: options.timeLimitMs ?? TIME_LIMIT_MS,
    tasksMax: WAITING_MAX,
  });
  return {
    check: async (html) => {
      if (html.length <= INLINE_CHARACTERS_MAX) return checkHtml(html);
      return await workers.run(html).catch(unavailable);
    },
    close: workers.close,
  };
};
