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

/** More hold up everybody else, fewer cost turns. */
const TURN_BYTES_MAX = 50_000;
/** What a small piece costs as well. */
const PIECE_BYTES_MIN = 1_000;

/** The pieces of a stream, with turns of the event loop in between: one that holds many hands them over without any. */
export async function* withTurns<T extends { readonly length: number }>(pieces: AsyncIterable<T>): AsyncGenerator<T> {
  let inTurn = 0;
  for await (const piece of pieces) {
    yield piece;
    inTurn += Math.max(piece.length, PIECE_BYTES_MIN);
    if (inTurn < TURN_BYTES_MAX) continue;
    await nextTurn();
    inTurn = 0;
  }
}

let line: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop of its own: pieces of work that wait for one never share it. The first
 * `setImmediate` that is called while sockets are read still runs before they are read again.
 */
export const ownTurn = (): Promise<void> => {
  line = line.then(() => nextTurn()).then(() => nextTurn());
  return line;
};

/** Runs it to the end. Pauses take a turn where this one is over, and cost nothing else. */
export const pacedBy = async <T>(isTurnOver: () => boolean, work: Pausing<T>): Promise<T> => {
  for (;;) {
    while (isTurnOver()) await ownTurn();
    const { done, value } = work.next();
    if (done === true) return value;
  }
};
