/** A part of the document. */
export type Json = Readonly<Record<string, unknown>>;

/** The entries of `parts` that are there, as one. */
export const present = (parts: Json): Json =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
