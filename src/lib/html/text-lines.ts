import { createLinePrefixes } from './line-prefixes.ts';
import { endOfSpaces, endOfWord, endWithoutJoiners, isOnlyMarks, visible } from './text-characters.ts';

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
