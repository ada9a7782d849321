/** What was asked for longest ago goes first. */
export interface BoundedCache<Value> {
  get(key: string): Value | undefined;
  /** @param weight in the unit of the bound; what alone is above it is not kept. */
  set(key: string, value: Value, weight: number): void;
}

/** @param weightMax of all values together. */
export const createBoundedCache = <Value>(weightMax: number): BoundedCache<Value> => {
  // A map gives its keys in the order in which they were set.
  const kept = new Map<string, { readonly value: Value; readonly weight: number }>();
  let total = 0;

  const remove = (key: string): void => {
    total -= kept.get(key)?.weight ?? 0;
    kept.delete(key);
  };

  return {
    get: (key) => {
      const found = kept.get(key);
      if (found === undefined) return undefined;
      kept.delete(key);
      kept.set(key, found);
      return found.value;
    },
    set: (key, value, weight) => {
      remove(key);
      if (weight > weightMax) return;
      kept.set(key, { value, weight });
      total += weight;
      for (const oldest of kept.keys()) {
        if (total <= weightMax) break;
        remove(oldest);
      }
    },
  };
};
