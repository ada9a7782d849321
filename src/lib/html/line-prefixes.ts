/** Deeper levels get no prefix of their own: it would leave no room for words, and cost every line. */
const PREFIX_CHARACTERS_MAX = 24;

interface Level {
  /** Prefix of the first line of the level, after that of the level around it. */
  readonly mark: string;
  /** Prefix of each further line, after those of all levels around it. */
  readonly rest: string;
  readonly outer: Level | undefined;
  readonly depth: number;
  /** No line of this level has begun. */
  isFresh: boolean;
}

export interface LinePrefixes {
  /** Adds a level. Its first line begins with `mark`, the others with `rest`. */
  enter(mark: string, rest: string): void;
  leave(): void;
  /** The prefix of the line that begins now. List marks are used only once. */
  first(): string;
  /** The prefix of its continuation lines. */
  rest(): string;
  /** The prefix of an empty line before the one that begins now: the part it shares with the line above. */
  blank(): string;
}

/** The prefixes of lines in nested quotes and lists: `> `, `* `, `1. `. Each operation is O(1) on average. */
export const createLinePrefixes = (): LinePrefixes => {
  let top: Level = { mark: '', rest: '', outer: undefined, depth: 0, isFresh: false };
  /** The outermost level that has been the innermost one since the last line began. */
  let outermost = top;

  const enter = (mark: string, rest: string): void => {
    const isKept = top.rest.length + rest.length <= PREFIX_CHARACTERS_MAX;
    const own = isKept ? { mark, rest: top.rest + rest, isFresh: true } : { mark: '', rest: top.rest, isFresh: false };
    top = { ...own, outer: top, depth: top.depth + 1 };
  };

  const leave = (): void => {
    top = top.outer ?? top;
    if (top.depth < outermost.depth) outermost = top;
  };

  const first = (): string => {
    let marks = '';
    let level = top;
    while (level.isFresh && level.outer !== undefined) {
      marks = level.mark + marks;
      level.isFresh = false;
      level = level.outer;
    }
    outermost = top;
    return level.rest + marks;
  };

  return { enter, leave, first, rest: () => top.rest, blank: () => outermost.rest.trimEnd() };
};
