import { createFairQueue } from './fair-queue.ts';
import { type Timeout, withTimeout } from './with-timeout.ts';

/** Runs work up to a total weight; the rest waits. Owners take turns, each in its order of arrival. */
export interface Semaphore {
  /**
   * Runs `work` once there is room for it; work heavier than the capacity runs alone.
   * @param weight default: 1.
   * @param owner who waits for no backlog but its own: an organization. Default: all work has one owner.
   * @throws `busy` when too many wait, `timeout` when its turn does not come: `work` was not started.
   */
  run<Result>(work: () => Promise<Result>, weight?: number, owner?: string): Promise<Result>;
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
  const waiting = createFairQueue<Waiting>();
  let running = 0;
  let weightRunning = 0;

  const fits = (weight: number): boolean => running === 0 || weightRunning + weight <= capacity;

  const admit = (weight: number): void => {
    running += 1;
    weightRunning += weight;
  };

  const admitWhatFits = (): void => {
    for (let next = waiting.peek(); next !== undefined && fits(next.weight); next = waiting.peek()) {
      waiting.shift();
      admit(next.weight);
      next.admit();
    }
  };

  const leave = (weight: number): void => {
    running -= 1;
    weightRunning -= weight;
    admitWhatFits();
  };

  const wait = async (weight: number, owner: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const one = { weight, admit: resolve };
    waiting.push(owner, one);
    if (timeout === undefined) return promise;
    try {
      await withTimeout(timeout, promise);
    } catch (error) {
      if (waiting.remove(owner, one)) admitWhatFits();
      else leave(weight); // admitted at the same moment
      throw error;
    }
  };

  return {
    run: async (work, weight = 1, owner = '') => {
      if (waiting.size === 0 && fits(weight)) admit(weight);
      else if (waiting.size >= waitingMax) throw busy();
      else await wait(weight, owner);
      try {
        return await work();
      } finally {
        leave(weight);
      }
    },
  };
};
