import { nextTick } from 'node:process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createFairQueue } from './semaphore.ts';
import type { System } from './system.ts';

/**
 * Long computations as generators that `yield` where they may pause. The same code serves callers that need the result
 * in this turn of the event loop and callers that let other work run between pauses.
 */
export type Pausing<T> = Generator<void, T>;

/** Runs the work to the end in this turn. */
export const atOnce = <T>(work: Pausing<T>): T => {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
};

/** Runs the work to the end, with a turn of the event loop at each pause. Work without a pause ends in this turn. */
export const inTurns = async <T>(work: Pausing<T>): Promise<T> => {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await nextTurn();
  }
};

/** Bytes per turn. More delay all other work, fewer cost turns. */
const TURN_BYTES_MAX = 50_000;
/** Minimum charge per piece, since small pieces have a fixed cost. */
const PIECE_BYTES_MIN = 1_000;

/**
 * Yields the pieces of a stream with turns of the event loop in between. A stream that has many buffered would yield
 * them all in one turn.
 */
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

/**
 * Calls `work` for each item, and pauses between two items when those since the last pause cost more than `costMax`.
 * @param work returns the item's cost in any unit; null ends the loop.
 */
export function* eachPausing<Item>(
  items: Iterable<Item>,
  costMax: number,
  work: (item: Item) => number | null,
): Pausing<void> {
  let cost = 0;
  for (const item of items) {
    if (cost > costMax) {
      yield;
      cost = 0;
    }
    const added = work(item);
    if (added === null) return;
    cost += added;
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

/** Hashing or copying more takes over a millisecond. */
const LARGE_BYTES = 1_000_000;

/** Waits for a turn of its own before work on many bytes, so that several such steps do not share one. */
export const turnFor = async (bytes: number): Promise<void> => {
  if (bytes > LARGE_BYTES) await ownTurn();
};

/** Runs the work to the end. A pause waits for a turn only if the current one is used up, and costs nothing else. */
export const pacedBy = async <T>(isTurnOver: () => boolean, work: Pausing<T>): Promise<T> => {
  for (;;) {
    while (isTurnOver()) await ownTurn();
    const { done, value } = work.next();
    if (done === true) return value;
  }
};

/**
 * Runs many short pieces of work, as many per turn of the event loop as fit into a time slice. Owners (organizations)
 * take turns.
 */
interface Slices {
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

/** Longer turns delay other requests, shorter ones yield needlessly: a yield costs some 10 µs. */
const TURN_MS = 8;

interface Concurrency {
  readonly system: Pick<System, 'monotonicMs'>;
  /** Concurrent calls. */
  readonly concurrency: number;
}

/**
 * Maps items with bounded concurrency, and yields to the event loop every `TURN_MS`, so that batches of thousands do
 * not block other requests, however many are mapped at the same time. Results are in the order of the items; the first
 * failure rejects.
 */
export const mapConcurrently = async <Item, Result>(
  items: readonly Item[],
  { system, concurrency }: Concurrency,
  work: (item: Item, index: number) => Promise<Result> | Result,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  const queue = items.entries();
  let beganMs = Number.NEGATIVE_INFINITY;
  let yielding: Promise<void> | null = null;

  const isTurnOver = (): boolean => system.monotonicMs() - beganMs >= TURN_MS;

  const yieldTurn = (): Promise<void> => {
    yielding ??= ownTurn().then(() => {
      yielding = null;
      beganMs = system.monotonicMs();
    });
    return yielding;
  };

  const takeItems = async (): Promise<void> => {
    for (const [index, item] of queue) {
      while (index > 0 && isTurnOver()) await yieldTurn();
      results[index] = await work(item, index);
    }
  };

  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, takeItems));
  return results;
};
