import { nextTick } from 'node:process';
import { createFairQueue } from './fair-queue.ts';

/**
 * Runs many short pieces of work, as many per turn of the event loop as fit into a time slice. Owners (organizations)
 * take turns.
 */
export interface Slices {
  /** @param work must not throw. Work that it starts in the same turn counts towards the slice. */
  run(owner: string, work: () => void): void;
}

/** Longer: all other work waits for each slice. Shorter: more turns until the last piece of work has run. */
const SLICE_MS = 5;

/** Lets promises and ticks of the work so far run, without another turn. */
const settle = (): Promise<void> => new Promise((resolve) => nextTick(resolve));

/** @param elapsedMs time of this thread; only differences count. */
export const createSlices = (elapsedMs: () => number): Slices => {
  const waiting = createFairQueue<() => void>();
  let isScheduled = false;

  const runSlice = async (): Promise<void> => {
    const endMs = elapsedMs() + SLICE_MS;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      next();
      await settle();
      if (elapsedMs() >= endMs) break;
    }
    isScheduled = false;
    if (waiting.size > 0) schedule();
  };

  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => void runSlice());
  };

  return {
    run: (owner, work) => {
      waiting.push(owner, work);
      schedule();
    },
  };
};
