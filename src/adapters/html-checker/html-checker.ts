import { type HtmlChecker, HtmlCheckUnavailable, type HtmlProblem } from '../../domain/ports/html-checker.ts';
import { createWorkerThreads, TaskTooLong, ThreadUnavailable } from '../worker-threads.ts';
import { checkHtml } from './check-html.ts';
import { createTurnBudget } from './turn-budget.ts';

/** Checked at once up to here (0.2 ms, broken ones 1 ms); larger bodies go to a thread, which costs about 50 µs. */
const INLINE_CHARACTERS_MAX = 20_000;
/**
 * Checked at once in one turn of the event loop: 5 ms if all of it is broken, 20 ms before that code is warm. Less makes
 * a batch wait for more turns, more makes every other request wait for the batch.
 */
const TURN_CHARACTERS_MAX = 100_000;
/** A megabyte takes 50 ms, the worst 300. Shorter refuses good mail, longer keeps the thread from other organizations. */
const RUN_MS_MAX = 500;
/** Clients are told 503 after 15 s. Longer does work nobody waits for. */
const WAIT_MS_MAX = 12_000;
/**
 * Bodies held while they wait: two of the largest batches. Fewer refuse a batch, more outlive the time limit; their
 * memory is that of requests in flight, which are bounded by bytes.
 */
const WAITING_MAX = 1_000;
const THREADS = 1;

const tooSlow = (): readonly HtmlProblem[] => [
  { line: 1, column: 1, message: `it takes longer than ${RUN_MS_MAX} ms to check: use fewer elements and attributes` },
];

const orProblem = (error: unknown): readonly HtmlProblem[] => {
  if (error instanceof TaskTooLong) return tooSlow();
  if (error instanceof ThreadUnavailable) throw new HtmlCheckUnavailable(`html was not checked: ${error.message}`);
  throw error;
};

export interface HtmlCheckerOptions {
  readonly threads?: number;
  readonly runMsMax?: number;
  readonly waitMsMax?: number;
}

/**
 * Small bodies are checked where they are, as many in one turn of the event loop as it can spare, large ones in a
 * thread, so that the event loop never waits for one. Organizations take turns at both.
 */
export const createHtmlChecker = (options: HtmlCheckerOptions = {}): HtmlChecker => {
  const workers = createWorkerThreads<string, readonly HtmlProblem[]>({
    entry: new URL('./check-html-thread.ts', import.meta.url),
    threads: options.threads ?? THREADS,
    runMsMax: options.runMsMax ?? RUN_MS_MAX,
    waitMsMax: options.waitMsMax ?? WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });
  const budget = createTurnBudget(TURN_CHARACTERS_MAX);
  return {
    check: async (html, organizationId) => {
      if (html.length > INLINE_CHARACTERS_MAX) return await workers.run(html, organizationId).catch(orProblem);
      if (!budget.take(html.length)) await budget.wait(html.length, organizationId);
      return checkHtml(html);
    },
    close: workers.close,
  };
};
