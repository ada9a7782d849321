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
 * Time is counted in slices, so that a stall of this process adds one slice at most. An answer that arrived during
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

/**
 * Deadlines of several seconds, nearly all of which are met. They share one timer: every request has two deadlines, and
 * a timer for each would cost 2 µs.
 */

/** Tick length. Longer is less exact, shorter scans all open deadlines more often. */
export const TICK_MS = 100;

interface Deadline {
  ticksLeft: number;
  readonly onLate: () => void;
}

const open = new Set<Deadline>();
let timer: NodeJS.Timeout | undefined;

const tick = (): void => {
  if (open.size === 0) {
    clearInterval(timer);
    timer = undefined;
  }
  for (const deadline of open) {
    deadline.ticksLeft -= 1;
    if (deadline.ticksLeft > 0) continue;
    open.delete(deadline);
    deadline.onLate();
  }
};

/**
 * Calls `onLate` after `ms`, at most two ticks late, unless it is stopped first. Time is counted in ticks, so a stall
 * of this process adds one tick, and data that arrived during the stall is read first.
 * @returns a function that stops it.
 */
export const startDeadline = (ms: number, onLate: () => void): (() => void) => {
  const deadline: Deadline = { ticksLeft: Math.ceil(ms / TICK_MS) + 1, onLate };
  open.add(deadline);
  timer ??= setInterval(tick, TICK_MS);
  if (open.size === 1) timer.ref();
  return () => {
    open.delete(deadline);
    if (open.size === 0) timer?.unref(); // an idle process may end
  };
};

/** Deadlines by name, with one underlying timer for all of them. */
interface Timers {
  /** Replaces the name's deadline. @param atMs of the monotonic clock. */
  set(name: string, atMs: number): void;
  /** Cancels all. */
  close(): void;
}

/**
 * Resolution: a timer fires at most this late. Each tick scans all deadlines, about 1 ms for 20,000. Shorter scans more
 * often, longer uses several slots of a rate limit in one burst.
 */
const TIMER_TICK_MS = 20;

/** @param fire must not throw. */
export const createTimers = (system: Pick<System, 'monotonicMs' | 'sleep'>, fire: (name: string) => void): Timers => {
  const deadlines = new Map<string, number>();
  let sleeping = new AbortController();
  let wakesMs = Number.POSITIVE_INFINITY;
  let closed = false;

  const earliest = (): number => {
    let ms = Number.POSITIVE_INFINITY;
    for (const atMs of deadlines.values()) ms = Math.min(ms, atMs);
    return ms;
  };

  const takeExpired = (nowMs: number): readonly string[] => {
    const names: string[] = [];
    for (const [name, atMs] of deadlines) if (atMs <= nowMs) names.push(name);
    for (const name of names) deadlines.delete(name);
    return names;
  };

  const tick = (): void => {
    for (const name of takeExpired(system.monotonicMs())) fire(name);
    wakesMs = Number.POSITIVE_INFINITY;
    wakeBy(earliest());
  };

  const sleepUntil = async (atMs: number, signal: AbortSignal): Promise<void> => {
    await pause(system, Math.max(TIMER_TICK_MS, atMs - system.monotonicMs()), signal);
    if (!signal.aborted) tick();
  };

  const wakeBy = (atMs: number): void => {
    if (closed || atMs >= wakesMs) return;
    sleeping.abort(ENDED);
    sleeping = new AbortController();
    wakesMs = atMs;
    void sleepUntil(atMs, sleeping.signal);
  };

  return {
    set: (name, atMs) => {
      deadlines.set(name, atMs);
      wakeBy(atMs);
    },
    close: () => {
      closed = true;
      sleeping.abort(ENDED);
      deadlines.clear();
    },
  };
};
