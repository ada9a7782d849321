import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Long computations as generators that `yield` where they may pause: one body of code for whoever needs the result in this
 * turn of the event loop, and for whoever lets others have turns meanwhile.
 */
export type Pausing<T> = Generator<void, T>;

/** Runs it to the end in this turn. */
export const atOnce = <T>(work: Pausing<T>): T => {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
};

/** Runs it to the end with a turn of the event loop at each pause; work without a pause ends in this turn. */
export const inTurns = async <T>(work: Pausing<T>): Promise<T> => {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await nextTurn();
  }
};
