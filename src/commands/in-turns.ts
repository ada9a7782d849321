import type { System } from '../domain/ports/system.ts';

/** Longer delays other requests, shorter gives the loop away more often than it needs: a turn costs some 10 µs. */
const TURN_MS = 8;

export interface Turns {
  readonly system: Pick<System, 'monotonicMs'>;
  /** How many are in hand at once, where the work waits for something. */
  readonly lanes: number;
}

/** Works on many things without keeping the event loop from others; results in the order of the items. */
export const inTurns = async <Item, Result>(
  items: readonly Item[],
  { system, lanes }: Turns,
  work: (item: Item, index: number) => Promise<Result> | Result,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  const queue = items.entries();
  let beganMs = system.monotonicMs();
  let ending: Promise<void> | null = null;

  const isOver = (): boolean => system.monotonicMs() - beganMs >= TURN_MS;

  const nextTurn = (): Promise<void> => {
    ending ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      ending = null;
      beganMs = system.monotonicMs();
    });
    return ending;
  };

  const lane = async (): Promise<void> => {
    for (const [index, item] of queue) {
      while (isOver()) await nextTurn();
      results[index] = await work(item, index);
    }
  };

  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
  return results;
};
