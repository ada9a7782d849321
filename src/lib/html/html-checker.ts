import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { createFairQueue, createWorkerThreads, TaskTooLong, ThreadUnavailable } from '../async/async.ts';
import { type CheckedHtml, checkWithShape, type HtmlToCheck } from './read-html.ts';
import { type HtmlChecker, HtmlCheckUnavailable } from './tokens.ts';

/** Adapter of the port `HtmlChecker`: small bodies inline under a time budget, large ones in a thread. */

interface Waiting {
  readonly amount: number;
  readonly proceed: () => void;
}

/** Part of each turn's budget for waiting work. The rest is for newcomers, so that one batch does not delay them. */
const SHARE_OF_WAITING = 0.5;

/**
 * Bounds the work done in one turn of the event loop. Work that finds the budget used up waits for a later turn; owners
 * (organizations) take turns, each in its order of arrival. No single amount may exceed the share of waiting work.
 */
const createTimeBudget = (amountPerTurn: number) => {
  const waiting = createFairQueue<Waiting>();
  let left = amountPerTurn;
  let isScheduled = false;

  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(startTurn);
  };

  /** Waiting work runs in the microtasks right after this, before anything else in the turn. */
  const startTurn = (): void => {
    isScheduled = false;
    left = amountPerTurn;
    const reserve = amountPerTurn * (1 - SHARE_OF_WAITING);
    let hasServed = false;
    for (let next = waiting.peek(); next !== undefined && left - next.amount >= reserve; next = waiting.peek()) {
      waiting.shift();
      left -= next.amount;
      hasServed = true;
      next.proceed();
    }
    if (hasServed || waiting.size > 0) schedule();
  };

  return {
    /** @returns false if the turn's budget is used up: `wait` for a later turn. */
    take: (amount: number): boolean => {
      if (amount > left) return false;
      left -= amount;
      schedule();
      return true;
    },
    wait: (amount: number, owner: string): Promise<void> =>
      new Promise((resolve) => {
        waiting.push(owner, { amount, proceed: resolve });
        schedule();
      }),
  };
};

/** Smaller bodies are checked inline (0.2 ms, broken ones 1 ms). Passing one to a thread costs about 50 µs. */
const INLINE_CHARACTERS_MAX = 20_000;
/**
 * Characters checked inline in one turn of the event loop: 5 ms if all of it is broken, 20 ms before the code is warm.
 * Lower: a batch takes more turns. Higher: every other request waits for the batch.
 */
const TURN_CHARACTERS_MAX = 100_000;
/**
 * A megabyte takes 50 ms, the worst 300. Lower: good mail is rejected. Higher: other organizations wait for the thread.
 */
const RUN_MS_MAX = 500;
/** Clients get a 503 after 15 s. Higher: work whose client has given up. */
const WAIT_MS_MAX = 12_000;
/**
 * Bodies in memory while they wait: two of the largest batches. Lower: a batch is refused. Higher: more bodies exceed
 * `WAIT_MS_MAX`. Their memory is that of requests in flight, which are bounded by bytes.
 */
const WAITING_MAX = 1_000;
const THREADS = 1;

const tooSlow = (): CheckedHtml => ({
  problems: [
    {
      line: 1,
      column: 1,
      message: `it takes longer than ${RUN_MS_MAX} ms to check: use fewer elements and attributes`,
    },
  ],
  isShapeValid: false,
});

const orProblem = (error: unknown): CheckedHtml => {
  if (error instanceof TaskTooLong) return tooSlow();
  if (error instanceof ThreadUnavailable) throw new HtmlCheckUnavailable(`html was not checked: ${error.message}`);
  throw error;
};

/** Total size of the cached shapes of valid html: those of some thousand templates. */
const SHAPES_CHARACTERS_MAX = 20_000_000;

/** Cached digests of valid html, by organization, some 150 bytes each. Fewer: bulk mail is checked more than once. */
const VALID_MAX = 10_000;

export interface HtmlCheckerOptions {
  readonly threads?: number;
  readonly runMsMax?: number;
  readonly waitMsMax?: number;
}

/**
 * Valid html is cached by its digest, so that the same mail to many recipients is checked once: 2 µs for 1 kB instead
 * of 20. Other html pays 2 µs more.
 *
 * A large body or a batch of small ones never blocks the event loop. Organizations take turns.
 */
export const createHtmlChecker = (options: HtmlCheckerOptions = {}): HtmlChecker => {
  const workers = createWorkerThreads<{ readonly job: 'check' } & HtmlToCheck, CheckedHtml>({
    entry: new URL('./html-thread.ts', import.meta.url),
    threads: options.threads ?? THREADS,
    runMsMax: options.runMsMax ?? RUN_MS_MAX,
    waitMsMax: options.waitMsMax ?? WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });
  const budget = createTimeBudget(TURN_CHARACTERS_MAX);
  const validShapes = new LRUCache<string, true>({
    maxSize: SHAPES_CHARACTERS_MAX,
    sizeCalculation: (_, shape) => shape.length + 1,
  });

  const check = async (task: HtmlToCheck, organizationId: string): Promise<CheckedHtml> => {
    const amount = task.html.length;
    if (amount > INLINE_CHARACTERS_MAX)
      return await workers.run({ job: 'check', ...task }, organizationId).catch(orProblem);
    if (!budget.take(amount)) await budget.wait(amount, organizationId);
    return checkWithShape(task);
  };

  const valid = new LRUCache<string, true>({ max: VALID_MAX });

  const checkKnown = async (html: string, organizationId: string): Promise<CheckedHtml['problems']> => {
    const key = `${organizationId} ${hash('sha256', html, 'base64')}`;
    if (valid.has(key)) return [];
    const { problems } = await check({ html, shape: undefined }, organizationId);
    if (problems.length === 0) valid.set(key, true);
    return problems;
  };

  const checkShape = async (html: string, organizationId: string, shape: string): Promise<CheckedHtml['problems']> => {
    if (validShapes.has(shape)) return [];
    const { problems, isShapeValid } = await check({ html, shape }, organizationId);
    if (isShapeValid) validShapes.set(shape, true);
    return problems;
  };

  return {
    check: async (html, organizationId, shape) => {
      if (shape !== undefined) return await checkShape(html, organizationId, shape);
      // Half a surrogate pair has no bytes in UTF-8: other html would have the same digest.
      if (!html.isWellFormed()) return (await check({ html, shape }, organizationId)).problems;
      return await checkKnown(html, organizationId);
    },
    close: workers.close,
  };
};
