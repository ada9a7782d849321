import type { System } from './system.ts';
import { ownTurn } from './turns.ts';

/** Longer turns delay other requests, shorter ones yield needlessly: a yield costs some 10 µs. */
const TURN_MS = 8;

export interface Concurrency {
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
