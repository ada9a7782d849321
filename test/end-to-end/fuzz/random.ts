/** Repeatable randomness: the same seed gives the same choices. */
export interface Random {
  /** An integer from 0 to `below - 1`. */
  int(below: number): number;
  chance(probability: number): boolean;
  /** @throws if the list is empty. */
  pick<T>(from: readonly T[]): T;
}

const TWO_TO_32 = 2 ** 32;

/** mulberry32. */
export const createRandom = (seed: number): Random => {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / TWO_TO_32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    int,
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]): T => {
      if (from.length === 0) throw new Error('nothing to pick from');
      return from[int(from.length)] as T; // the index is in range
    },
  };
};
