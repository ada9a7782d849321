import { createFairQueue } from './fair-queue.ts';
import { type Timeout, withTimeout } from './with-timeout.ts';

/** Runs work up to a total weight; the rest waits. Owners take turns, each in its order of arrival. */
export interface Semaphore {
  /**
   * Runs `work` once there is room for it. Work heavier than the capacity runs alone.
   * @param weight default: 1.
   * @param owner waits only for its own backlog: an organization. Default: all work has one owner.
   * @throws `busy` when too many wait, `timeout` when its turn does not come. In both cases `work` was not started.
   */
  run<Result>(work: () => Promise<Result>, weight?: number, owner?: string): Promise<Result>;
}

export interface SemaphoreOptions {
  /** Total weight of running work. */
  readonly capacity: number;
  /**
   * Weight of running work of one owner, and never more than the free capacity: an owner with nothing running does not
   * wait for one that has much. Default: any weight.
   */
  readonly share?: number;
  /**
   * Callers that may wait. Beyond that, the last one of the owner with the most waiting is rejected. Default: any
   * number.
   */
  readonly waitingMax?: number;
  /** Error thrown when no more may wait. */
  readonly busy?: () => Error;
  /** How long a caller waits for its turn. Default: as long as it takes. */
  readonly timeout?: Timeout;
}

interface Waiting {
  readonly weight: number;
  readonly owner: string;
  readonly admit: () => void;
  readonly refuse: (error: Error) => void;
  /** May become true at the very moment of its time-out. */
  isAdmitted: boolean;
}

type Running = Pick<Waiting, 'weight' | 'owner'>;

export const createSemaphore = (options: SemaphoreOptions): Semaphore => {
  const { capacity, share, timeout, waitingMax = Number.POSITIVE_INFINITY } = options;
  const busy = options.busy ?? (() => new Error('too many callers wait'));
  const waiting = createFairQueue<Waiting>();
  /** Weight by owner, without zeros. */
  const weightOf = new Map<string, number>();
  let running = 0;
  let weightRunning = 0;

  const fits = ({ weight }: Running): boolean => running === 0 || weightRunning + weight <= capacity;

  const isWithinShare = ({ weight, owner }: Running): boolean => {
    const own = weightOf.get(owner) ?? 0;
    return share === undefined || own === 0 || own + weight <= Math.min(share, capacity - weightRunning);
  };

  const change = ({ weight, owner }: Running, sign: 1 | -1): void => {
    running += sign;
    weightRunning += sign * weight;
    const own = (weightOf.get(owner) ?? 0) + sign * weight;
    if (own === 0) weightOf.delete(owner);
    else weightOf.set(owner, own);
  };

  /** The next in line is never overtaken: otherwise there would never be room for heavy work. */
  const admitWhatFits = (): void => {
    for (let next = waiting.peek(isWithinShare); next !== undefined && fits(next); next = waiting.peek(isWithinShare)) {
      waiting.shift(isWithinShare);
      change(next, 1);
      next.isAdmitted = true;
      next.admit();
    }
  };

  const leave = (one: Running): void => {
    change(one, -1);
    admitWhatFits();
  };

  const inTime = async (limit: Timeout, one: Waiting, turn: Promise<void>): Promise<void> => {
    try {
      await withTimeout(limit, turn);
    } catch (error) {
      if (one.isAdmitted) leave(one);
      else if (waiting.remove(one.owner, one)) admitWhatFits();
      throw error;
    }
  };

  const wait = (running: Running): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one = { ...running, admit: resolve, refuse: reject, isAdmitted: false };
    waiting.push(one.owner, one);
    admitWhatFits();
    if (waiting.size > waitingMax) waiting.dropOfLongest()?.refuse(busy());
    return timeout === undefined ? promise : inTime(timeout, one, promise);
  };

  return {
    run: async (work, weight = 1, owner = '') => {
      const one = { weight, owner };
      if (waiting.size === 0 && fits(one) && isWithinShare(one)) change(one, 1);
      else await wait(one);
      try {
        return await work();
      } finally {
        leave(one);
      }
    },
  };
};
