import { ApiError, ConnectionError, RateLimitError } from './errors.ts';

/** When a request is sent again, and after how long (specification §7, client handling rules). */

export interface RetryOptions {
  /** Further tries after the first. Default 4. */
  readonly maxRetries?: number | undefined;
  /** A try without a whole answer ends after this many milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** All tries and the waits between them, in milliseconds. Default 150,000: two waits for a rate limit. */
  readonly totalTimeoutMs?: number | undefined;
}

export const DEFAULTS = { maxRetries: 4, timeoutMs: 30_000, totalTimeoutMs: 150_000 } as const;

/** The service has not carried out what it answered with these. */
const REFUSED = [429, 503];
const TRANSIENT = [...REFUSED, 500, 502, 504];
/** Of a 429 that does not say. */
const RATE_LIMIT_SECONDS = 60;
const FIRST_WAIT_MS = 500;
const WAIT_MS_MAX = 20_000;
/** Never at once. */
const WAIT_MS_MIN = 100;

/**
 * Milliseconds to wait before the next try; null: no further try.
 * @param tried number of tries so far, from 1.
 * @param isRepeatable a second try changes nothing that the first has changed.
 */
export const waitBefore = (error: unknown, tried: number, isRepeatable: boolean): number | null => {
  if (error instanceof ApiError) return waitAfterAnswer(error, tried, isRepeatable);
  return error instanceof ConnectionError && isRepeatable ? backOff(tried) : null;
};

const waitAfterAnswer = (error: ApiError, tried: number, isRepeatable: boolean): number | null => {
  if (!(isRepeatable ? TRANSIENT : REFUSED).includes(error.status)) return null;
  const asked = error.retryAfter ?? (error instanceof RateLimitError ? RATE_LIMIT_SECONDS : 0);
  return asked * 1000 + backOff(tried);
};

/** Exponential with full jitter. */
export const backOff = (tried: number): number =>
  WAIT_MS_MIN + Math.random() * Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (tried - 1));

/** Waits. @throws the signal's reason when it aborts first. */
export const pause = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, milliseconds);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });

type Trying = { readonly [Name in keyof Required<RetryOptions>]: number } & {
  readonly signal: AbortSignal | undefined;
  readonly isRepeatable: boolean;
};

/**
 * Tries until an answer is there, or no try is left.
 * @param attempt with the milliseconds that it has.
 * @throws what the last try threw, or the reason of the signal.
 */
export const withRetries = async <Answer>(
  attempt: (timeoutMs: number) => Promise<Answer>,
  { maxRetries, timeoutMs, totalTimeoutMs, signal, isRepeatable }: Trying,
): Promise<Answer> => {
  const until = performance.now() + totalTimeoutMs;

  const waitOrThrow = async (error: unknown, tried: number): Promise<void> => {
    signal?.throwIfAborted();
    const wait = tried > maxRetries ? null : waitBefore(error, tried, isRepeatable);
    if (wait === null || performance.now() + wait > until) throw error;
    await pause(wait, signal);
  };

  for (let tried = 1; ; tried++) {
    signal?.throwIfAborted();
    try {
      return await attempt(Math.max(1, Math.min(timeoutMs, until - performance.now())));
    } catch (error) {
      await waitOrThrow(error, tried);
    }
  }
};
