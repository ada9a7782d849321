/** Sets an entry as the newest of a map in insertion order, and drops the oldest until `max` are left. */
export const setNewest = <Value>(map: Map<string, Value>, key: string, value: Value, max: number): void => {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
};
