import { createPlaces } from '../../domain/analysis/text.ts';
import { HTML_PROBLEMS_MAX, type HtmlProblem } from '../../domain/ports/html-checker.ts';

/** Names are the sender's: the longest that HTML knows is half as long, a megabyte would come back in each message. */
const NAME_CHARACTERS_MAX = 40;

/** A message that names a second place is made when it is known to be listed. */
type Message = string | ((placeOf: (offset: number) => string) => string);

export type Report = (offset: number, message: Message) => void;

/** A name as messages show it. */
export const shown = (name: string): string =>
  name.length <= NAME_CHARACTERS_MAX ? name : `${name.slice(0, NAME_CHARACTERS_MAX)}…`;

/** Keeps the first problems in the order of the text, however they are reported. Lines are counted only for these. */
export const createProblemList = (html: string) => {
  const kept: { readonly offset: number; readonly message: Message }[] = [];

  const report: Report = (offset, message) => {
    let index = kept.length;
    while (index > 0 && offset < (kept[index - 1]?.offset ?? 0)) index -= 1;
    if (index === HTML_PROBLEMS_MAX) return;
    kept.splice(index, 0, { offset, message });
    kept.length = Math.min(kept.length, HTML_PROBLEMS_MAX);
  };

  const problems = (): readonly HtmlProblem[] => {
    if (kept.length === 0) return [];
    const placeAt = createPlaces(html);
    const placeOf = (offset: number): string => {
      const { line, column } = placeAt(offset);
      return `line ${line}, column ${column}`;
    };
    return kept.map(({ offset, message }) => ({
      ...placeAt(offset),
      message: typeof message === 'string' ? message : message(placeOf),
    }));
  };

  return { report, problems };
};
