/** Returns the cached value of a key, or computes it. */
export type Memo<Value> = (key: string, make: () => Value) => Value;

/**
 * Memoizes values that are expensive to compute.
 * @param max number of cached values. When it is reached, all are dropped.
 */
export const createMemo = <Value>(max: number): Memo<Value> => {
  const kept = new Map<string, Value>();
  return (key, make) => {
    const known = kept.get(key);
    if (known !== undefined) return known;
    if (kept.size === max) kept.clear();
    const made = make();
    kept.set(key, made);
    return made;
  };
};
