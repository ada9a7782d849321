/** What a number, a key's place or a small object takes, roughly. */
const WORD_BYTES = 8;

/** About how many bytes an event's data holds in memory: what is kept of the log is bounded by it. Takes about 1 µs. */
export const heldBytes = (value: unknown): number => {
  if (typeof value === 'string') return WORD_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return WORD_BYTES;
  let bytes = WORD_BYTES;
  for (const part of Object.values(value)) bytes += WORD_BYTES + heldBytes(part);
  return bytes;
};
