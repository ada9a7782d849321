const EARLIEST_MS = 0;
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * A time as ISO 8601 writes it, in UTC; null outside the years 1970 to 9999, which are all that everything which stores,
 * compares or shows times agrees on.
 */
export const timeOf = (ms: number): string | null =>
  ms >= EARLIEST_MS && ms <= LATEST_MS ? new Date(ms).toISOString() : null;
