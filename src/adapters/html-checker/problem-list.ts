import { HTML_PROBLEMS_MAX, type HtmlProblem } from '../../domain/html-checker.ts';

/** Names are the sender's: the longest that HTML knows is half as long, a megabyte would come back in each message. */
const NAME_CHARACTERS_MAX = 40;

type Place = Pick<HtmlProblem, 'line' | 'column'>;
/** A message that names a second place is made when it is known to be listed. */
type Message = string | ((placeOf: (offset: number) => string) => string);

export type Report = (offset: number, message: Message) => void;

/** A name as messages show it. */
export const shown = (name: string): string =>
  name.length <= NAME_CHARACTERS_MAX ? name : `${name.slice(0, NAME_CHARACTERS_MAX)}…`;

const lineStartsOf = (html: string): readonly number[] => {
  const starts = [0];
  for (const { index, 0: lineBreak } of html.matchAll(/\r\n|\r|\n/g)) starts.push(index + lineBreak.length);
  return starts;
};

/** By bisection: the last line that starts at the offset or before it. */
const placeAt = (lineStarts: readonly number[], offset: number): Place => {
  let low = 0;
  let high = lineStarts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((lineStarts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - (lineStarts[low] ?? 0) + 1 };
};

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
    const lineStarts = lineStartsOf(html);
    const placeOf = (offset: number): string => {
      const { line, column } = placeAt(lineStarts, offset);
      return `line ${line}, column ${column}`;
    };
    return kept.map(({ offset, message }) => ({
      ...placeAt(lineStarts, offset),
      message: typeof message === 'string' ? message : message(placeOf),
    }));
  };

  return { report, problems };
};
