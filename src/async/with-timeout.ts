import type { System } from '../domain/ports/system.ts';

/** A bound on how long a caller waits. The work itself is not stopped; what it does later is ignored. */
export interface Timeout {
  readonly ms: number;
  /** Absent: the process's own timer, which costs less and stands around every request. */
  readonly system?: Pick<System, 'sleep'> | undefined;
  /** Default: `TimedOut`. */
  readonly error?: () => Error;
}

/** Something did not answer in time. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/** Made once: an abort without a reason makes an error with its stack each time. */
const ENDED = new Error('answered in time');

const startTimer = ({ ms, system }: Timeout, onTimeout: () => void): (() => void) => {
  if (system === undefined) {
    const timer = setTimeout(onTimeout, ms);
    return () => clearTimeout(timer);
  }
  const ended = new AbortController();
  system.sleep(ms, ended.signal).then(onTimeout, () => undefined);
  return () => ended.abort(ENDED);
};

/**
 * Resolves or rejects as `work` does, or rejects after `ms`.
 * @throws {TimedOut} or what `error` makes.
 */
export const withTimeout = async <Result>(timeout: Timeout, work: Promise<Result>): Promise<Result> => {
  const { ms, error = () => new TimedOut(`no answer within ${ms} ms`) } = timeout;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stopTimer = startTimer(timeout, () => reject(error()));
  try {
    return await Promise.race([work, late]);
  } finally {
    stopTimer();
  }
};

/** Resolves or rejects as `work` does, or resolves to undefined when `signal` aborts first. */
export const untilAborted = async <Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result | undefined> => {
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const end = (): void => resolve(undefined);
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', end);
  }
};

/** Sleeps; wakes early when `signal` aborts. Never rejects for that. */
export const pause = async (system: Pick<System, 'sleep'>, ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await system.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};
