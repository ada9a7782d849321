/**
 * Liquid in a source that is read as MJML, html or CSS. Each Liquid tag is replaced by a word that is a valid attribute
 * name, attribute value and CSS value alike, or by a comment between elements, and is restored afterwards.
 */

/** Letters that no living language uses: no source contains them by accident. */
const START = '\uA66E';
const END = '\uA66D';
/** A serializer writes an attribute without a value as one with an empty value. */
const PLACEHOLDER = new RegExp(`<!--${START}([0-9a-z]+)${END}+-->|${START}([0-9a-z]+)${END}+(?:="")?`, 'g');

/** `{% raw %}` and `{% comment %}` with their content, or a single tag. */
const LIQUID = /\{%-?\s*(raw|comment)\s*-?%\}[\s\S]*?\{%-?\s*end\1\s*-?%\}|\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g;

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
  for (const { 0: tag, index } of source.matchAll(LIQUID)) {
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
