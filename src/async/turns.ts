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

/** Longer holds up everybody else, shorter costs a turn for each small piece. */
const TURN_MS_MAX = 5;

/**
 * The items of a stream, with a turn of the event loop in between every few milliseconds: a stream that holds many hands
 * over one after the other without any.
 */
export async function* withTurns<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  let began = performance.now();
  for await (const item of items) {
    yield item;
    if (performance.now() - began < TURN_MS_MAX) continue;
    await nextTurn();
    began = performance.now();
  }
}
