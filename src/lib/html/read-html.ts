import { createNesting, type ElementVisitor } from './nesting.ts';
import { type ReadPlainTokens, readPlainTokens } from './plain-tokens.ts';
import { createProblemList } from './problems.ts';
import { readStandardTokens, type StandardTokenHandler } from './standard-tokens.ts';
import type { Attribute } from './tokens.ts';
import { type HtmlProblem, SHAPE_VALUE } from './validity.ts';

/** Callbacks for one use of HTML beyond checking its validity. */
export interface HtmlVisitor<Data> extends ElementVisitor<Data> {
  /** All text between two tags or comments, with its character references decoded. Absent: text is not read. */
  readonly text?: (run: TextRun, outer: Data) => void;
  /** Called for an attribute that its tag already has. Absent: not needed. @param offset of its name. */
  readonly repeatedAttribute?: (name: string, offset: number) => void;
}

export interface TextRun {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface HtmlReading {
  /** Problems in the order of the source, at most `HTML_PROBLEMS_MAX`. */
  problems(): readonly HtmlProblem[];
  /** Depth of the deepest element. */
  readonly depth: number;
}

const nothing = (): void => {};

/** Not part of the text, as in the standard's decoder. */
const BYTE_ORDER_MARK = '\uFEFF';

/** Joins the pieces of text between two tags, and passes on all other tokens. */
const withText = <Data>(
  handler: StandardTokenHandler,
  outer: () => Data,
  take: (run: TextRun, outer: Data) => void,
): StandardTokenHandler => {
  let text = '';
  let start = 0;
  const flush = (end: number): void => {
    if (text === '') return;
    take({ start, end, text }, outer());
    text = '';
  };
  return {
    ...handler,
    startTag: (tag) => {
      flush(tag.offset);
      handler.startTag(tag);
    },
    endTag: (name, offset) => {
      flush(offset);
      handler.endTag(name, offset);
    },
    other: flush,
    text: (piece, offset) => {
      if (text === '') start = offset;
      text += piece;
    },
    endOfInput: (offset, isInText) => {
      flush(offset);
      handler.endOfInput(offset, isInText);
    },
  };
};

/**
 * Reads HTML in one pass: tokens drive the stack of open elements, which reports problems and calls the visitor. No
 * tree is built. Time and memory are linear in the size for any html.
 * @param readPlain reads the beginning as far as it can; the standard's tokenizer reads the rest.
 */
export const readHtml = <Data>(
  html: string,
  visitor: HtmlVisitor<Data>,
  readPlain: ReadPlainTokens = readPlainTokens,
): HtmlReading => {
  const { report, problems } = createProblemList(html);
  const nesting = createNesting(report, visitor);
  const structure: StandardTokenHandler = {
    ...nesting,
    report,
    repeatedAttribute: visitor.repeatedAttribute,
    text: undefined,
    other: nothing,
  };
  const handler = visitor.text === undefined ? structure : withText(structure, nesting.outer, visitor.text);
  const start = html.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  const isReadable = html.isWellFormed() && !html.includes('\0');
  const plain = isReadable ? readPlain(html, start, handler) : { end: start, hasContent: false };
  if (plain.end === html.length) handler.endOfInput(html.length, false);
  else readStandardTokens(html, { start: plain.end, hasContent: plain.hasContent }, handler);
  return { problems, depth: nesting.depth() };
};

const VALIDITY: HtmlVisitor<void> = {
  root: undefined,
  start: nothing,
  end: nothing,
  strayEnd: nothing,
};

/** Problems of the html in the order of the source, at most `HTML_PROBLEMS_MAX`. */
export const checkHtml = (html: string, readPlain?: ReadPlainTokens): readonly HtmlProblem[] =>
  readHtml(html, VALIDITY, readPlain).problems();

const countMarks = (text: string): number => text.split(SHAPE_VALUE).length - 1;

const isQuoted = (html: string, { end }: Attribute): boolean => /["']/.test(html.charAt(end - 1));

/**
 * True if all html of this shape is valid with any escaped values: the shape itself is valid, and every mark is text or
 * quoted.
 */
const isValidShape = (shape: string): boolean => {
  let safe = 0;
  const reading = readHtml<void>(shape, {
    ...VALIDITY,
    start: ({ attributes }) => {
      for (const one of attributes) if (isQuoted(shape, one)) safe += countMarks(one.value);
    },
    text: ({ text }) => {
      safe += countMarks(text);
    },
  });
  return reading.problems().length === 0 && safe === countMarks(shape);
};

export interface HtmlToCheck {
  readonly html: string;
  /** Shape of the html, see `HtmlChecker`. */
  readonly shape: string | undefined;
}

export interface CheckedHtml {
  readonly problems: readonly HtmlProblem[];
  readonly isShapeValid: boolean;
}

export const checkWithShape = ({ html, shape }: HtmlToCheck): CheckedHtml => {
  const problems = checkHtml(html);
  return { problems, isShapeValid: shape !== undefined && problems.length === 0 && isValidShape(shape) };
};
