import { LIQUID_TAGS, type TemplateProblem } from './template-renderer.ts';

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

/**
 * Liquid in a source that is read as MJML, html or CSS. Each Liquid tag is replaced by a word that is a valid attribute
 * name, attribute value and CSS value alike, or by a comment between elements, and is restored afterwards.
 */

/** Letters that no living language uses: no source contains them by accident. */
const START = '\uA66E';
const END = '\uA66D';
/** A serializer writes an attribute without a value as one with an empty value. */
const PLACEHOLDER = new RegExp(`<!--${START}([0-9a-z]+)${END}+-->|${START}([0-9a-z]+)${END}+(?:="")?`, 'g');

/** Elements that cannot contain comments: their content is text, not markup. */
const RAW_TEXT = /^(?:style|script|title|textarea|mj-style|mj-title|mj-preview)$/;

const RADIX = 36;

/** Surroundings of a Liquid tag. */
interface Context {
  /** Inside `<…>`. */
  readonly isInTag: boolean;
  /** Name of the open element whose content is not markup; null: none. */
  readonly rawText: string | null;
}

const TAG_EDGE = /<!--[\s\S]*?-->|<(\/?)([a-zA-Z][a-zA-Z0-9-]*)|>/g;

const insideRawText = (context: Context, isEnd: boolean, name: string): Context =>
  isEnd && name === context.rawText ? { isInTag: true, rawText: null } : context;

/** @param name null: the end of a tag. */
const after = (context: Context, isEnd: boolean, name: string | null): Context => {
  if (name === null) return { ...context, isInTag: false };
  if (context.rawText !== null) return insideRawText(context, isEnd, name);
  return { isInTag: true, rawText: !isEnd && RAW_TEXT.test(name) ? name : null };
};

/** The context behind a piece of source without Liquid. */
const readOn = (before: Context, piece: string): Context => {
  let context = before;
  for (const [edge, slash, name = null] of piece.matchAll(TAG_EDGE)) {
    if (!edge.startsWith('<!--')) context = after(context, slash === '/', name?.toLowerCase() ?? null);
  }
  return context;
};

const COMMENT = /^\{%-?\s*(?:comment|#)/;

const numberOf = (inComment: string | undefined, inText: string | undefined): number =>
  Number.parseInt(inComment ?? inText ?? '', RADIX);

export interface WithPlaceholders {
  /** When no comments are used, offsets outside Liquid tags are the same as in the source. */
  readonly text: string;
  restore(compiled: string): string;
  /**
   * Offset in the source of the first tag that is missing from a compiled result; null if only comments are missing.
   */
  lost(compiled: string): number | null;
  /** Offset in the source of the tag whose placeholder comes first in a piece of text; null if it has none. */
  firstIn(piece: string): number | null;
}

/**
 * @param comments whether Liquid between elements becomes a comment. Text there would be moved out of tables. A word
 * keeps the tag's length, so that positions in the result are positions in the source.
 */
export const withPlaceholders = (source: string, comments: boolean): WithPlaceholders => {
  const tags: string[] = [];
  const offsets: number[] = [];
  let context: Context = { isInTag: false, rawText: null };
  let text = '';
  let end = 0;
  for (const { 0: tag, index } of source.matchAll(LIQUID_TAGS)) {
    const piece = source.slice(end, index);
    context = readOn(context, piece);
    const word = `${START}${tags.length.toString(RADIX)}`.padEnd(tag.length - 1, END) + END;
    text += piece + (comments && !context.isInTag && context.rawText === null ? `<!--${word}-->` : word);
    tags.push(tag);
    offsets.push(index);
    end = index + tag.length;
  }
  return {
    text: text + source.slice(end),
    restore: (compiled) =>
      compiled.replace(PLACEHOLDER, (whole, inComment?: string, inText?: string) => {
        return tags[numberOf(inComment, inText)] ?? whole;
      }),
    lost: (compiled) => {
      const held = new Set(Array.from(compiled.matchAll(PLACEHOLDER), ([, first, second]) => numberOf(first, second)));
      const missing = tags.findIndex((tag, number) => !held.has(number) && !COMMENT.test(tag));
      return offsets[missing] ?? null;
    },
    firstIn: (piece) => {
      const [first] = piece.matchAll(PLACEHOLDER);
      return first === undefined ? null : (offsets[numberOf(first[1], first[2])] ?? null);
    },
  };
};
