/** The text that a refused body is shown as, and how places in the body that was sent are counted. */

/** A stretch of the shown text. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Maximum length of the shown text. */
const SHOWN_CHARACTERS_MAX = 4_000;
const INDENT = '  ';

/** Lines and columns of offsets that only grow. */
export const createRuler = (text: string) => {
  let line = 1;
  let lineStart = 0;
  /** Characters of the line that are not shown because contents were removed. */
  let missing = 0;
  const endFrom = (start: number): number => {
    const next = text.indexOf('\n', start);
    return next < 0 ? Number.POSITIVE_INFINITY : next;
  };
  let lineEnd = endFrom(0);
  const goTo = (offset: number): void => {
    while (lineEnd < offset) {
      line += 1;
      lineStart = lineEnd + 1;
      missing = 0;
      lineEnd = endFrom(lineStart);
    }
  };
  return {
    at: (offset: number) => {
      goTo(offset);
      return { line, column: offset - lineStart + missing + 1 };
    },
    lengthen: (offset: number, by: number): void => {
      goTo(offset);
      missing += by;
    },
  };
};

/** Builds the shown text up to its limit. @param formatted inserts line breaks and indentation, and ignores the original white space. */
export const createShownText = (formatted: boolean) => {
  let text = '';
  let cut = false;
  let depth = 0;
  let begins = false;

  const write = (piece: string): TextRange | null => {
    cut ||= text.length + piece.length > SHOWN_CHARACTERS_MAX;
    if (cut) return null;
    text += piece;
    return { start: text.length - piece.length, end: text.length };
  };
  const breakLine = (): void => {
    if (formatted && begins) write(`\n${INDENT.repeat(depth)}`);
    begins = false;
  };

  return {
    text: () => text,
    isCut: () => cut,
    space: (piece: string): TextRange | null => (formatted ? null : write(piece)),
    item: (piece: string): TextRange | null => {
      breakLine();
      return write(piece);
    },
    open: (sign: string): TextRange | null => {
      breakLine();
      depth += 1;
      const place = write(sign);
      begins = true;
      return place;
    },
    close: (sign: string): TextRange | null => {
      depth -= 1;
      begins = !begins; // an empty one stays on its line
      breakLine();
      return write(sign);
    },
    separate: (sign: string): TextRange | null => {
      begins = sign === ',';
      return write(sign === ':' && formatted ? ': ' : sign);
    },
  };
};
