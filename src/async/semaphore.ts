import { type Timeout, withTimeout } from './with-timeout.ts';

/** Runs work up to a total weight; the rest waits in order of arrival. */
export interface Semaphore {
  /**
   * Runs `work` once there is room for it; work heavier than the capacity runs alone.
   * @param weight default: 1.
   * @throws `busy` when too many wait, `timeout` when its turn does not come: `work` was not started.
   */
  run<Result>(work: () => Promise<Result>, weight?: number): Promise<Result>;
}

export interface SemaphoreOptions {
  /** Total weight of running work. */
  readonly capacity: number;
  /** Callers that may wait. Default: any number. */
  readonly waitingMax?: number;
  /** Thrown when more would wait. */
  readonly busy?: () => Error;
  /** How long a caller waits for its turn. Default: as long as it takes. */
  readonly timeout?: Timeout;
}

interface Waiting {
  readonly weight: number;
  readonly admit: () => void;
}

export const createSemaphore = (options: SemaphoreOptions): Semaphore => {
  const { capacity, timeout, waitingMax = Number.POSITIVE_INFINITY } = options;
  const busy = options.busy ?? (() => new Error('too many callers wait'));
  /** A set keeps the order and removes from the front cheaply. */
  const waiting = new Set<Waiting>();
  let running = 0;
  let weightRunning = 0;

  const fits = (weight: number): boolean => running === 0 || weightRunning + weight <= capacity;

  const admit = (weight: number): void => {
    running += 1;
    weightRunning += weight;
  };

  const admitWhatFits = (): void => {
    for (const next of waiting) {
      if (!fits(next.weight)) return;
      waiting.delete(next);
      admit(next.weight);
      next.admit();
    }
  };

  const leave = (weight: number): void => {
    running -= 1;
    weightRunning -= weight;
    admitWhatFits();
  };

  const wait = async (weight: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const one = { weight, admit: resolve };
    waiting.add(one);
    if (timeout === undefined) return promise;
    try {
      await withTimeout(timeout, promise);
    } catch (error) {
      if (waiting.delete(one)) admitWhatFits();
      else leave(weight); // admitted at the same moment
      throw error;
    }
  };

  return {
    run: async (work, weight = 1) => {
      if (waiting.size === 0 && fits(weight)) admit(weight);
      else if (waiting.size >= waitingMax) throw busy();
      else await wait(weight);
      try {
        return await work();
      } finally {
        leave(weight);
      }
    },
  };
};
