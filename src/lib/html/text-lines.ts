const SPACE = 0x20;
/** U+200C, which keeps letters apart, differs only in the last bit. */
const ZERO_WIDTH_JOINER = 0x200d;
/** The smallest of `ONLY_MARKS`. */
const FIRST_MARK = 0x61c;

/** Collapsed like spaces, including no-break spaces, which mail uses as padding. */
const SPACES = /[\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/g;
/** Invisible, or shown as garbage: controls, soft hyphens, joiners that pad previews. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const REMOVED = /\u034f|[\0-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u180e\u200b\u2060-\u2064\ufeff]/g;
/** Few chunks have any other character: one test is faster than two replacements. */
const UNUSUAL = /[^\t\n\f\r -~]/;
/** Meaningful inside words (Persian, emoji, text direction), but not on their own. */
const ONLY_MARKS = /^(?:\u200d|[\u061c\u200c\u200e\u200f\u202a-\u202e\u2066-\u2069])+$/;

/** The visible characters of a text, with every kind of space as an ASCII space. */
const visible = (chunk: string): string =>
  UNUSUAL.test(chunk) ? chunk.replace(SPACES, ' ').replace(REMOVED, '') : chunk;

const endOfWord = (text: string, start: number): number => {
  let end = start;
  while (end < text.length && text.charCodeAt(end) > SPACE) end += 1;
  return end;
};

/** A joiner at the end of a word joins nothing. */
const endWithoutJoiners = (word: string): number => {
  let end = word.length;
  while (end > 0 && (word.charCodeAt(end - 1) | 1) === ZERO_WIDTH_JOINER) end -= 1;
  return end;
};

const endOfSpaces = (text: string, start: number): number => {
  let end = start;
  while (end < text.length && text.charCodeAt(end) <= SPACE) end += 1;
  return end;
};

const isOnlyMarks = (piece: string): boolean => piece.charCodeAt(0) >= FIRST_MARK && ONLY_MARKS.test(piece);

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

interface LinePrefixes {
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
const createLinePrefixes = (): LinePrefixes => {
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

/** RFC 5322 §2.1.1. */
const LINE_CHARACTERS = 78;
/**
 * A cell up to this length (`Total:`, a bullet) shares its line with the text after it. After a longer cell, the text
 * starts a new line.
 */
const LABEL_CHARACTERS_MAX = 20;
/** Separators between two words, in order of strength. The strongest requested gap wins. */
export const GAP = { none: 0, space: 1, cell: 2, line: 3, blank: 4 } as const;
export type Gap = (typeof GAP)[keyof typeof GAP];

/**
 * Builds lines of text from words and the gaps between them. A gap takes effect only when a word follows, so there are
 * no gaps at either end, and never two empty lines. Time and memory are linear in the input.
 */
export const createTextLines = () => {
  const prefixes = createLinePrefixes();
  const lines: string[] = [];
  /** The line being filled; undefined before the first. */
  let line: string | undefined;
  /** Prefix of the lines that continue it. */
  let rest = '';
  /** The word being read, and the gap before it. */
  let word = '';
  let before: Gap = GAP.none;
  /** The gap before the next word. */
  let pending: Gap = GAP.none;
  /** Joiners, marks and preformatted spaces that count only if a word follows. */
  let held = '';
  /** Start of the last cell within the line, if not 0. */
  let cellStart = 0;
  /** The last cell takes more than one line. */
  let isWrapped = false;
  let isRule = false;
  let count = 0;
  let linesBegun = 0;
  /** Nothing of the row has been visible so far. */
  let isRowStart = true;

  const endLine = (): void => {
    if (line !== undefined) lines.push(line.trimEnd());
    cellStart = 0;
    isWrapped = false;
    isRule = false;
  };

  const startLine = (isAfterBlank: boolean): void => {
    endLine();
    if (isAfterBlank && line !== undefined) lines.push(prefixes.blank());
    linesBegun += 1;
    line = prefixes.first();
    rest = prefixes.rest();
    before = GAP.none;
  };

  /** Text that began after a longer cell and does not fit on its line moves to a line of its own. */
  const splitAtCell = (filled: string): string => {
    if (cellStart - rest.length <= LABEL_CHARACTERS_MAX) return filled;
    lines.push(filled.slice(0, cellStart).trimEnd());
    const own = rest + filled.slice(cellStart);
    cellStart = 0;
    return own;
  };

  const wrap = (filled: string): void => {
    const kept = before === GAP.cell ? filled : splitAtCell(filled);
    if (kept !== filled && kept.length + 1 + word.length <= LINE_CHARACTERS) {
      line = `${kept} ${word}`;
      return;
    }
    lines.push(kept.trimEnd());
    linesBegun += 1;
    line = rest + word;
    isWrapped = before !== GAP.cell;
    cellStart = 0;
  };

  const place = (filled: string): void => {
    const width = before === GAP.none ? 0 : before;
    if (width > 0 && filled.length + width + word.length > LINE_CHARACTERS) {
      wrap(filled);
      return;
    }
    if (before === GAP.cell) cellStart = filled.length + width;
    line = filled + '  '.slice(0, width) + word;
  };

  const commit = (): void => {
    held = '';
    if (word === '') return;
    place(line ?? '');
    word = '';
  };

  const begin = (): void => {
    before = pending;
    pending = GAP.none;
    isRowStart = false;
    if (line === undefined || before >= GAP.line) startLine(before === GAP.blank);
  };

  const append = (piece: string): void => {
    count += 1;
    if (word === '') begin();
    word += held + piece;
    held = '';
  };

  /** Requests at least this gap before the next word. */
  const gap = (wanted: Gap): void => {
    commit();
    if (wanted > pending) pending = wanted;
  };

  const lineBreak = (): void => gap(pending >= GAP.line ? GAP.blank : GAP.line);

  const appendVisible = (piece: string): void => {
    const end = word === '' && isOnlyMarks(piece) ? 0 : endWithoutJoiners(piece);
    if (end > 0) append(piece.slice(0, end));
    if (end < piece.length) held += piece.slice(end);
  };

  /** Collapses white space and wraps words. */
  const text = (chunk: string): void => {
    const shown = visible(chunk);
    let at = endOfSpaces(shown, 0);
    if (at > 0) gap(GAP.space);
    while (at < shown.length) {
      const end = endOfWord(shown, at);
      appendVisible(shown.slice(at, end));
      at = endOfSpaces(shown, end);
      if (at > end) gap(GAP.space);
    }
  };

  const preformattedLine = (shown: string): void => {
    if (word === '' && shown.trimStart() === '') held += shown;
    else append(shown);
  };

  /** Keeps white space and lines, except spaces at line ends and more than one empty line. */
  const preformatted = (chunk: string): void => {
    const [first = '', ...others] = visible(chunk).split(/\r\n?|\n/);
    preformattedLine(first);
    for (const shown of others) {
      lineBreak();
      preformattedLine(shown);
    }
  };

  /** Appends to the last word, whatever gap was requested since. */
  const suffix = (added: string): void => {
    commit();
    const wanted = pending;
    pending = GAP.space;
    append(added);
    if (wanted !== GAP.none) gap(wanted);
  };

  /** Separates the cells of a row. After a cell of several lines, the next one begins a line. */
  const endCell = (): void => {
    commit();
    gap(isWrapped ? GAP.line : GAP.cell);
  };

  const startCell = (): void => {
    // A gap that a table in the cell before requested would split the row.
    if (!isRowStart && pending > GAP.line) pending = GAP.line;
    endCell();
  };

  /** @returns the number of lines before the row. `endRow` uses it to set a row of several lines apart. */
  const startRow = (): number => {
    gap(GAP.line);
    isRowStart = true;
    return linesBegun;
  };

  const endRow = (linesBefore: number): void => {
    commit();
    gap(linesBegun - linesBefore > 1 ? GAP.blank : GAP.line);
  };

  /** Draws a rule on a line of its own, unless the line before is a rule too. */
  const rule = (drawn: string): void => {
    gap(GAP.blank);
    if (isRule) return;
    append(drawn);
    gap(GAP.blank);
    isRule = true;
  };

  return {
    text,
    preformatted,
    gap,
    lineBreak,
    suffix,
    rule,
    startRow,
    endRow,
    startCell,
    endCell,
    enter: prefixes.enter,
    leave: prefixes.leave,
    /** Number of pieces of words. It grows whenever something visible is added. */
    pieces: (): number => count,
    finish: (): string => {
      commit();
      endLine();
      return lines.join('\n');
    },
  };
};

export type TextLines = ReturnType<typeof createTextLines>;
