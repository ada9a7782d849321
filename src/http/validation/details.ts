import type { Details } from '../../domain/domain-error.ts';
import type { Problem } from './wording.ts';

/** A request can be wrong in a million places: nobody reads more than this, and fewer would hide some. */
export const PROBLEMS_MAX = 100;

/** Problems by field, each once. */
export const detailsOf = (problems: readonly Problem[], maximum = PROBLEMS_MAX): Details => {
  const details = new Map<string, string[]>();
  for (const [field, sentence] of problems.slice(0, maximum)) {
    const known = details.get(field) ?? [];
    if (!known.includes(sentence)) known.push(sentence);
    details.set(field, known);
  }
  return Object.fromEntries(details);
};
