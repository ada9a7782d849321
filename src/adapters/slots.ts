/** So many at once; others wait in the order in which they came. */
export interface Slots {
  /** Resolves when there is room; false: so many wait already that there is no use in waiting. */
  take(): Promise<boolean>;
  free(): void;
}

export const createSlots = (slotsMax: number, waitingMax: number): Slots => {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return {
    take: async () => {
      if (taken < slotsMax) {
        taken += 1;
        return true;
      }
      if (waiting.length >= waitingMax) return false;
      await new Promise<void>((resolve) => waiting.push(resolve));
      return true;
    },
    // The slot goes on to who waits first.
    free: () => {
      const next = waiting.shift();
      if (next === undefined) taken -= 1;
      else next();
    },
  };
};
