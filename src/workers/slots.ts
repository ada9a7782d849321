/** So many at a time; the others wait in the order in which they came. */
export interface Slots {
  run<Result>(work: () => Promise<Result>): Promise<Result>;
}

export const createSlots = (count: number): Slots => {
  /** A set keeps the order and gives from the front without moving the rest. */
  const waiting = new Set<() => void>();
  let free = count;

  const take = async (): Promise<void> => {
    if (free > 0) {
      free -= 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    await promise;
  };

  const give = (): void => {
    for (const wake of waiting) {
      waiting.delete(wake);
      wake(); // the slot goes from hand to hand
      return;
    }
    free += 1;
  };

  return {
    run: async (work) => {
      await take();
      try {
        return await work();
      } finally {
        give();
      }
    },
  };
};
