import { inTime } from '../../domain/in-time.ts';
import type { System } from '../../domain/ports/system.ts';
import { NoAnswer } from './eventstoredb-faults.ts';

export interface TimeOut {
  readonly system: Pick<System, 'sleep'>;
  readonly ms: number;
}

/**
 * The client enforces no deadline on most calls: a server that accepts and never answers keeps them pending for ever.
 * @throws {NoAnswer} after the time; what `work` does later is ignored.
 */
export const withTimeOut = <T>({ system, ms }: TimeOut, work: Promise<T>): Promise<T> =>
  inTime(system, ms, work, () => new NoAnswer(`the event store did not answer within ${ms} ms`));

/**
 * As `withTimeOut`, but the time begins anew for as long as something has come in the meantime: a busy server, or one far
 * away, is not a dead one.
 * @param received how much has come so far.
 */
export const whileAnswering = async <T>(timeOut: TimeOut, work: Promise<T>, received: () => number): Promise<T> => {
  for (let before = 0; ; ) {
    try {
      return await withTimeOut(timeOut, work);
    } catch (error) {
      const now = received();
      if (!(error instanceof NoAnswer) || now === before) throw error;
      before = now;
    }
  }
};

export type Slots = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Lets `max` calls be open at a time; the others wait their turn, up to the time-out.
 * @throws {NoAnswer} when no turn came: the work was not begun.
 */
export const createSlots = (max: number, timeOut: TimeOut): Slots => {
  let free = max;
  const waiting = new Set<() => void>();

  const leave = (): void => {
    const [next] = waiting;
    if (next === undefined) {
      free += 1;
    } else {
      waiting.delete(next);
      next();
    }
  };

  const enter = async (): Promise<void> => {
    if (free > 0) {
      free -= 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    try {
      await withTimeOut(timeOut, promise);
    } catch (error) {
      if (!waiting.delete(resolve)) leave(); // the turn came in the same moment
      throw error;
    }
  };

  return async (work) => {
    await enter();
    try {
      return await work();
    } finally {
      leave();
    }
  };
};
