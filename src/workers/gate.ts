/** Work of so much weight at a time; the others wait in the order in which they came. */
export interface Gate {
  /** Where nothing is in hand, work of any weight is admitted. */
  run<Result>(weight: number, work: () => Promise<Result>): Promise<Result>;
}

interface Waiting {
  readonly weight: number;
  readonly admit: () => void;
}

export const createGate = (capacity: number): Gate => {
  /** A set keeps the order and gives from the front without moving the rest. */
  const waiting = new Set<Waiting>();
  let inHand = 0;
  let weightInHand = 0;

  const admitWhatFits = (): void => {
    for (const next of waiting) {
      if (inHand > 0 && weightInHand + next.weight > capacity) return;
      waiting.delete(next);
      inHand += 1;
      weightInHand += next.weight;
      next.admit();
    }
  };

  const enter = (weight: number): Promise<void> => {
    const { promise, resolve: admit } = Promise.withResolvers<void>();
    waiting.add({ weight, admit });
    admitWhatFits();
    return promise;
  };

  const leave = (weight: number): void => {
    inHand -= 1;
    weightInHand -= weight;
    admitWhatFits();
  };

  return {
    run: async (weight, work) => {
      await enter(weight);
      try {
        return await work();
      } finally {
        leave(weight);
      }
    },
  };
};
