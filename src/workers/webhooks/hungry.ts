/** A set of endpoints to look at, which can be waited for. */
export interface Hungry {
  add(webhookIds: Iterable<string>): void;
  /** Empties it. */
  take(): readonly string[];
  /** Resolves when there is something to take. */
  wait(): Promise<void>;
}

export const createHungry = (): Hungry => {
  const waiting = new Set<string>();
  let ready = Promise.withResolvers<void>();
  return {
    add: (webhookIds) => {
      for (const id of webhookIds) waiting.add(id);
      if (waiting.size > 0) ready.resolve();
    },
    take: () => {
      const taken = [...waiting];
      waiting.clear();
      ready = Promise.withResolvers<void>();
      return taken;
    },
    wait: () => ready.promise,
  };
};
