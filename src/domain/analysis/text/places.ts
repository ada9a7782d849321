import type { HtmlProblem } from '../../html-checker.ts';

/** Line and column of an offset. */
export type Places = (offset: number) => Pick<HtmlProblem, 'line' | 'column'>;

const LF = 0x0a;
const CR = 0x0d;

/** LF, CR LF and CR end a line (HTML Standard §13.2.3.5). */
const endsLine = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code === LF || (code === CR && text.charCodeAt(at + 1) !== LF);
};

const lineStarts = (text: string): readonly number[] => {
  const starts = [0];
  for (let at = 0; at < text.length; at += 1) if (endsLine(text, at)) starts.push(at + 1);
  return starts;
};

/** The lines are counted once, when the first place is asked for. */
export const createPlaces = (text: string): Places => {
  let starts: readonly number[] | null = null;
  return (offset) => {
    starts ??= lineStarts(text);
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
};
