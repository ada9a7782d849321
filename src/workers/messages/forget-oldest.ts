/** Forgets what was put into a map first, until no more than `max` are left. */
export const forgetOldest = (map: Map<string, unknown>, max: number): void => {
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
};
