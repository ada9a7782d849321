/** Finds what was made for a key before, or makes it. */
export type Memo<Value> = (key: string, make: () => Value) => Value;

/** Keeps what is quicker to find than to make. @param max once so many are kept, all are let go of. */
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
