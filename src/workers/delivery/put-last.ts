/** Puts an entry behind all others, whether it was there or not, and forgets the first ones until `max` are left. */
export const putLast = <Value>(map: Map<string, Value>, key: string, value: Value, max: number): void => {
  map.delete(key);
  map.set(key, value);
  for (const first of map.keys()) {
    if (map.size <= max) return;
    map.delete(first);
  }
};
