/** JSON text that is equal for equal values: object keys sorted, no white space (in the manner of RFC 8785). */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, nested: unknown) =>
    typeof nested === 'object' && nested !== null && !Array.isArray(nested)
      ? Object.fromEntries(Object.entries(nested).sort(([left], [right]) => (left < right ? -1 : 1)))
      : nested,
  );
