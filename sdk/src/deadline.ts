import { TIMER_MS_MAX } from './retry.ts';

export interface Deadline {
  readonly signal: AbortSignal;
  hasPassed(): boolean;
  /** Starts the timer, with the full time. */
  start(): void;
  /** Stops the timer; the signal still aborts with the other one. */
  stop(): void;
  /** Stops the timer and releases the other signal. */
  end(): void;
}

/**
 * A signal that aborts with another, or when its time has passed since it was started. `AbortSignal.any` comes with Node
 * 20.3, and holds on to a signal that outlives many requests.
 */
export const createDeadline = (milliseconds: number, other: AbortSignal | undefined): Deadline => {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let passed = false;
  const follow = (): void => controller.abort(other?.reason);
  const pass = (): void => {
    passed = true;
    controller.abort();
  };
  const stop = (): void => clearTimeout(timer);
  if (other?.aborted) follow();
  else other?.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    hasPassed: () => passed,
    start: () => {
      stop();
      timer = setTimeout(pass, Math.min(milliseconds, TIMER_MS_MAX));
    },
    stop,
    end: () => {
      stop();
      other?.removeEventListener('abort', follow);
    },
  };
};
