import { ApiError, ConnectionError, RateLimitError } from './errors.ts';

/** When a request is sent again, and after how long (specification §7, client handling rules). */

export interface RetryOptions {
  /** Retries after the first attempt. Default 4. */
  readonly maxRetries?: number | undefined;
  /** Time-out of one attempt in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Time-out of all attempts and waits in milliseconds. Default 150,000, which fits two waits for a rate limit. */
  readonly totalTimeoutMs?: number | undefined;
}

type Limits = { readonly [Name in keyof Required<RetryOptions>]: number };

const DEFAULTS: Limits = { maxRetries: 4, timeoutMs: 30_000, totalTimeoutMs: 150_000 };
/** Longest delay of a timer. Longer ones fire immediately. */
export const TIMER_MS_MAX = 2_147_483_647;
const RETRIES_MAX = 100;

const within = (name: keyof RetryOptions, value: number, [least, most]: readonly [number, number]): number => {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw new TypeError(`${name} must be a number from ${least} to ${most}`);
};

/** The limits of a request, each from the first options that set it. @throws {TypeError} if a value is not a valid limit. */
export const limitsOf = (...given: readonly RetryOptions[]): Limits => {
  const limit = (name: keyof RetryOptions): number =>
    given.find((one) => one[name] !== undefined)?.[name] ?? DEFAULTS[name];
  return {
    maxRetries: within('maxRetries', limit('maxRetries'), [0, RETRIES_MAX]),
    timeoutMs: within('timeoutMs', limit('timeoutMs'), [1, TIMER_MS_MAX]),
    totalTimeoutMs: within('totalTimeoutMs', limit('totalTimeoutMs'), [1, TIMER_MS_MAX]),
  };
};

const RATE_LIMITED = 429;
const TRANSIENT = [RATE_LIMITED, 500, 502, 503, 504];
/** Wait after a 429 without `Retry-After`. */
const RATE_LIMIT_SECONDS = 60;
const FIRST_WAIT_MS = 500;
const WAIT_MS_MAX = 20_000;
/** Minimum wait before a retry. */
const WAIT_MS_MIN = 100;

/**
 * Milliseconds to wait before the next attempt; null: no further attempt.
 * @param tried number of attempts so far, from 1.
 * @param isRepeatable true if repeating the request is safe. Other requests are retried only after a 429,
 * which means that nothing was done; a 500, 502, 503 or 504 may follow a request that was carried out.
 */
export const waitBefore = (error: unknown, tried: number, isRepeatable: boolean): number | null => {
  if (error instanceof ApiError) return waitAfterAnswer(error, tried, isRepeatable);
  return error instanceof ConnectionError && isRepeatable ? backOff(tried) : null;
};

const waitAfterAnswer = (error: ApiError, tried: number, isRepeatable: boolean): number | null => {
  if (!(isRepeatable ? TRANSIENT : [RATE_LIMITED]).includes(error.status)) return null;
  const asked = error.retryAfter ?? (error instanceof RateLimitError ? RATE_LIMIT_SECONDS : 0);
  return asked * 1000 + backOff(tried);
};

/** Exponential back-off with full jitter. */
export const backOff = (tried: number): number =>
  WAIT_MS_MIN + Math.random() * Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (tried - 1));

/** Waits. @throws the signal's reason when it aborts first. */
export const pause = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', end);
        resolve();
      },
      Math.min(milliseconds, TIMER_MS_MAX),
    );
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });

/** Result of an attempt. */
export interface TryResult<Answer> {
  /** Number of the attempt, from 1. */
  readonly tried: number;
  readonly durationMs: number;
  readonly outcome: { readonly answer: Answer } | { readonly error: unknown };
  /** Milliseconds until the next try; null: no further try. */
  readonly retryInMs: number | null;
}

interface RetryPolicy<Answer> extends Limits {
  readonly signal: AbortSignal | undefined;
  readonly isRepeatable: boolean;
  /** Called after each attempt, before the wait for the next one. */
  onTried(tried: TryResult<Answer>): void;
}

/**
 * Repeats the attempt until it succeeds or no retry is left.
 * @param attempt receives its time-out in milliseconds.
 * @throws the error of the last attempt, or the reason of the signal.
 */
export const withRetries = async <Answer>(
  attempt: (timeoutMs: number) => Promise<Answer>,
  { maxRetries, timeoutMs, totalTimeoutMs, signal, isRepeatable, onTried }: RetryPolicy<Answer>,
): Promise<Answer> => {
  const until = performance.now() + totalTimeoutMs;

  const waitFor = (error: unknown, tried: number): number | null => {
    const wait = tried > maxRetries || signal?.aborted ? null : waitBefore(error, tried, isRepeatable);
    return wait === null || performance.now() + wait > until ? null : wait;
  };

  for (let tried = 1; ; tried++) {
    signal?.throwIfAborted();
    const began = performance.now();
    const ended = (outcome: TryResult<Answer>['outcome'], retryInMs: number | null): void =>
      onTried({ tried, durationMs: performance.now() - began, outcome, retryInMs });
    try {
      const answer = await attempt(Math.max(1, Math.min(timeoutMs, until - began)));
      ended({ answer }, null);
      return answer;
    } catch (error) {
      const wait = waitFor(error, tried);
      ended({ error }, wait);
      signal?.throwIfAborted();
      if (wait === null) throw error;
      await pause(wait, signal);
    }
  }
};
