import type { TemplateProblem } from './template-renderer.ts';

/** Tags and places in the source of a template, read before a library parses it. */

/** Libraries recurse: deeper input overflows their stack. Lower rejects tables of real newsletters, 30 to 60 deep. */
const DEPTH_MAX = 300;

const VOID_NAME = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;

export const isVoid = (name: string): boolean => VOID_NAME.test(name);

const MARKUP = /<!--[\s\S]*?-->|<(\/?)([a-zA-Z][a-zA-Z0-9-]*)(?:[^>"']|"[^"]*"|'[^']*')*?(\/?)>/g;

const placeOf = (source: string, offset: number): Pick<TemplateProblem, 'line' | 'column'> => {
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1 };
};

export const problemAt = (source: string, offset: number, sentence: string): TemplateProblem => ({
  ...placeOf(source, offset),
  sentence,
});

export interface Markup {
  /** `void`: an element without content and end tag. */
  readonly kind: 'start' | 'end' | 'void' | 'comment';
  /** Lower case; empty for a comment. */
  readonly name: string;
  readonly offset: number;
  /** Offset after its `>`. */
  readonly end: number;
}

const kindOf = (name: string, slash: string, selfClosing: string): Markup['kind'] => {
  if (name === '') return 'comment';
  if (selfClosing === '/' || isVoid(name)) return 'void';
  return slash === '/' ? 'end' : 'start';
};

/** Tags and comments in the order of the text. */
export const markupIn = (text: string): readonly Markup[] =>
  Array.from(text.matchAll(MARKUP), ({ 0: whole, 1: slash = '', 2: written = '', 3: selfClosing = '', index }) => {
    const name = written.toLowerCase();
    return { kind: kindOf(name, slash, selfClosing), name, offset: index, end: index + whole.length };
  });

/** @param write replaces the text of a tag or comment. */
export const rewriteMarkup = (
  text: string,
  markup: readonly Markup[],
  write: (written: string, each: Markup) => string,
): string => {
  let end = 0;
  const pieces: string[] = [];
  for (const each of markup) {
    pieces.push(text.slice(end, each.offset), write(text.slice(each.offset, each.end), each));
    end = each.end;
  }
  return pieces.join('') + text.slice(end);
};

/** @param source the original source, with the same offsets as the text that was read. */
export const depthProblem = (source: string, markup: readonly Markup[]): TemplateProblem | null => {
  let depth = 0;
  for (const { kind, offset } of markup) {
    if (kind === 'start') depth += 1;
    if (kind === 'end') depth = Math.max(0, depth - 1);
    if (depth > DEPTH_MAX) return problemAt(source, offset, `elements are nested more than ${DEPTH_MAX} deep`);
  }
  return null;
};
