import { startDeadline } from './deadlines.ts';
import type { System } from './system.ts';

/** How long a caller waits. The work itself is not stopped; its later result is ignored. */
export interface Timeout {
  readonly ms: number;
  /** Absent: the process's own timer, which is cheaper and used around every request. */
  readonly system?: Pick<System, 'sleep'> | undefined;
  /** Default: `TimedOut`. */
  readonly error?: () => Error;
}

/** There was no answer in time. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/** Abort reason for frequent aborts. Without one, each abort creates an error with its stack. */
export const ENDED = new Error('no longer wanted');

/**
 * Time is counted in slices, so that a stall of this process counts as one slice at most. An answer that arrived during
 * the stall is read first, and a process that got no processor time does not blame the server.
 */
const SLICES = 8;
/** Shorter time-outs are not sliced: timers are no finer than a millisecond. */
const SLICED_MS_MIN = 80;
/** From this length on, a shared deadline is exact enough. */
const DEADLINE_MS_MIN = 2_000;

const startTimer = ({ ms, system }: Timeout, onTimeout: () => void): (() => void) => {
  if (system === undefined && ms >= DEADLINE_MS_MIN) return startDeadline(ms, onTimeout);
  const slices = ms < SLICED_MS_MIN ? 1 : SLICES;
  if (system === undefined) {
    let left = slices;
    const timer = setInterval(() => {
      left -= 1;
      if (left > 0) return;
      clearInterval(timer);
      onTimeout();
    }, ms / slices);
    return () => clearInterval(timer);
  }
  const ended = new AbortController();
  const sleepAll = async (): Promise<void> => {
    for (let slice = 0; slice < slices; slice += 1) await system.sleep(ms / slices, ended.signal);
    onTimeout();
  };
  sleepAll().catch(() => undefined); // it was answered in time
  return () => ended.abort(ENDED);
};

/**
 * Resolves or rejects as `work` does, or rejects after `ms`.
 * @throws {TimedOut} or the error that `error` makes.
 */
export const withTimeout = <Result>(timeout: Timeout, work: Promise<Result>): Promise<Result> => {
  const { ms, error = () => new TimedOut(`no answer within ${ms} ms`) } = timeout;
  return new Promise((resolve, reject) => {
    const stopTimer = startTimer(timeout, () => reject(error()));
    work.then(
      (result) => {
        stopTimer();
        resolve(result);
      },
      (reason: unknown) => {
        stopTimer();
        reject(reason);
      },
    );
  });
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

/** Sleeps, and wakes early when `signal` aborts. An abort does not reject. */
export const pause = async (system: Pick<System, 'sleep'>, ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await system.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};
