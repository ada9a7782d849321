import { type HtmlChecker, HtmlCheckUnavailable, type HtmlProblem } from '../../domain/html-checker.ts';
import { createWorkerThreads, ThreadUnavailable } from '../worker-threads.ts';
import { checkHtml } from './check-html.ts';
import { createTurnBudget } from './turn-budget.ts';

/** Checked at once up to here (0.2 ms, broken ones 1 ms); larger bodies go to a thread, which costs about 50 µs. */
const INLINE_CHARACTERS_MAX = 20_000;
/**
 * Checked at once in one turn of the event loop: 5 ms if all of it is broken, 20 ms before that code is warm. Less makes
 * a batch wait for more turns, more makes every other request wait for the batch.
 */
const TURN_CHARACTERS_MAX = 100_000;
/** A megabyte takes 50 ms. Shorter refuses good mail on a busy machine, longer keeps a client waiting for nothing. */
const TIME_LIMIT_MS = 5_000;
/**
 * Bodies held while they wait: two of the largest batches. Fewer refuse a batch, more outlive the time limit; their
 * memory is that of requests in flight, which are bounded by bytes.
 */
const WAITING_MAX = 1_000;
const THREADS = 1;

const unavailable = (error: unknown): never => {
  if (error instanceof ThreadUnavailable) throw new HtmlCheckUnavailable(`html was not checked: ${error.message}`);
  throw error;
};

export interface HtmlCheckerOptions {
  readonly threads?: number;
  readonly timeLimitMs?: number;
}

/**
 * Small bodies are checked where they are, as many in one turn of the event loop as it can spare, large ones in a
 * thread, so that the event loop never waits for one.
 */
export const createHtmlChecker = (options: HtmlCheckerOptions = {}): HtmlChecker => {
  const workers = createWorkerThreads<string, readonly HtmlProblem[]>({
    entry: new URL('./check-html-thread.ts', import.meta.url),
    threads: options.threads ?? THREADS,
    timeLimitMs: options.timeLimitMs ?? TIME_LIMIT_MS,
    tasksMax: WAITING_MAX,
  });
  const budget = createTurnBudget(TURN_CHARACTERS_MAX);
  return {
    check: async (html) => {
      if (html.length > INLINE_CHARACTERS_MAX) return await workers.run(html).catch(unavailable);
      if (!budget.take(html.length)) await budget.wait(html.length);
      return checkHtml(html);
    },
    close: workers.close,
  };
};
