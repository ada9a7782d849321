import { type Token, Tokenizer, Token as Tokens } from 'parse5';
import { createNesting, type ElementVisitor } from './nesting.ts';
import { type ReadPlainTokens, readPlainTokens } from './plain-tokens.ts';
import {
  ACCEPTED_BOGUS_COMMENT,
  BOGUS_COMMENTS,
  createProblemList,
  createTagProblems,
  type Report,
} from './problems.ts';
import {
  type Attribute,
  type HtmlProblem,
  SHAPE_VALUE,
  type StartTag,
  TEXT_MODES,
  type TokenHandler,
} from './tokens.ts';

/** Also receives what only this tokenizer notices. */
interface StandardTokenHandler extends TokenHandler {
  readonly report: Report;
  /** An end tag of this name is not a problem: its start tag was reported. */
  forgive(name: string): void;
  /**
   * Called for an attribute that its tag already has; the first one counts. Absent: repeated attributes are not
   * collected.
   */
  readonly repeatedAttribute: ((name: string, offset: number) => void) | undefined;
  /** @param isInText the input ends in an element whose content is text. */
  endOfInput(offset: number, isInText: boolean): void;
}

/** The part that no other tokenizer has read. */
interface Rest {
  readonly start: number;
  /** Something other than comments and space precedes it. */
  readonly hasContent: boolean;
}

/**
 * Tokenizes the rest of the html according to the standard (parse5), and reports tokenizer errors that mean broken
 * markup. Time and memory are linear in the size.
 */
const readStandardTokens = (html: string, rest: Rest, handler: StandardTokenHandler): void => {
  const { report } = handler;
  const tags = createTagProblems(html, handler);
  const startOf = ({ location }: Token.Token): number => rest.start + (location?.startOffset ?? 0);
  const endOf = ({ location }: Token.Token): number => rest.start + (location?.endOffset ?? 0);
  let { hasContent } = rest;
  let isBogusComment = false;
  /** Inside a text element whose end tag is still to come. */
  let isInText = false;
  let isInTag = false;
  let isCutOff = false;
  /** The end of the token before the current one. */
  let tokenEnd = rest.start;

  const reportCutOff = (what: string, start: number): void => {
    isCutOff = true;
    report(html.length, (placeOf) => `the input ends inside ${what} that begins at ${placeOf(start)}`);
  };

  const reportNamelessEndTag = (offset: number): void => report(offset - 2, 'end tag without a name');

  /** Errors whose place or meaning differs from the standard's. */
  const parseErrors: Readonly<Record<string, (offset: number) => void>> = {
    'eof-before-tag-name': () => reportCutOff('a tag', html.lastIndexOf('<')),
    'eof-in-cdata': () => reportCutOff('a CDATA section', html.lastIndexOf('<![CDATA[')),
    'eof-in-tag': () => {
      isInTag = true;
    },
    'missing-end-tag-name': reportNamelessEndTag,
    // `a < b` is text and stays. The parser turns `</ b>` into a comment.
    'invalid-first-character-of-tag-name': (offset) => {
      if (html[offset - 1] === '/') reportNamelessEndTag(offset);
    },
  };

  const parseError = (code: string, offset: number): void => {
    isBogusComment ||= BOGUS_COMMENTS.has(code);
    const special = parseErrors[code];
    if (special === undefined) tags.parseError(code, offset);
    else special(offset);
  };

  const checkDoctype = (start: number, end: number): void => {
    const swallowed = html.slice(start + 1, end).indexOf('<');
    if (end > html.length) reportCutOff('the doctype', start);
    else if (hasContent) report(start, 'unexpected doctype');
    else if (swallowed >= 0) report(start + 1 + swallowed, 'unexpected "<" in the doctype');
  };

  const checkComment = ({ data }: Token.CommentToken, start: number): void => {
    if (tokenEnd > html.length) reportCutOff('a comment', start);
    else if (isBogusComment && !ACCEPTED_BOGUS_COMMENT.test(data)) report(start, 'malformed comment');
    isBogusComment = false;
  };

  const startTagOf = (token: Token.TagToken): StartTag => ({
    name: token.tagName,
    offset: startOf(token),
    isSelfClosing: token.selfClosing,
    hasAttributes: token.attrs.length > 0,
    get attributes() {
      const places = token.location?.attrs ?? {};
      return token.attrs.map(({ name, value }) => ({
        name,
        value,
        start: rest.start + (places[name]?.startOffset ?? 0),
        end: rest.start + (places[name]?.endOffset ?? 0),
      }));
    },
    attribute: (name) => Tokens.getTokenAttr(token, name) ?? undefined,
  });

  const onText = (token: Token.CharacterToken): void => {
    tokenEnd = endOf(token);
    handler.text?.(token.chars, startOf(token));
  };

  const tokenizer: Tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onParseError: ({ code, startOffset }) => parseError(code, rest.start + startOffset),
      onComment: (token) => {
        tokenEnd = endOf(token);
        handler.other(startOf(token));
        checkComment(token, startOf(token));
      },
      onDoctype: (token) => {
        tokenEnd = endOf(token);
        handler.other(startOf(token));
        checkDoctype(startOf(token), tokenEnd);
        hasContent = true;
      },
      onStartTag: (token) => {
        tokenEnd = endOf(token);
        hasContent = true;
        const mode = handler.isInForeign() ? undefined : TEXT_MODES.get(token.tagName);
        const name = tags.tagName(token.tagName, startOf(token) + 1);
        if (name === token.tagName) handler.startTag(startTagOf(token));
        else tags.forgiveBoth(name, startOf(token));
        tokenizer.inForeignNode = handler.isInForeign();
        isInText = mode !== undefined;
        if (mode !== undefined) tokenizer.state = mode;
      },
      onEndTag: (token) => {
        tokenEnd = endOf(token);
        hasContent = true;
        isInText = false;
        const name = tags.tagName(token.tagName, startOf(token) + 2);
        if (name === token.tagName && token.attrs.length > 0) report(startOf(token), 'end tag with attributes');
        handler.endTag(name, startOf(token));
        tokenizer.inForeignNode = handler.isInForeign();
      },
      onEof: () => {
        if (isInTag) reportCutOff('a tag', tokenEnd);
        handler.other(html.length);
        if (!isCutOff) handler.endOfInput(html.length, isInText);
      },
      onCharacter: (token) => {
        hasContent = true;
        onText(token);
      },
      onNullCharacter: onText,
      onWhitespaceCharacter: onText,
    },
  );
  tokenizer.inForeignNode = handler.isInForeign();
  tokenizer.write(html.slice(rest.start), true);
};

/** Callbacks for one use of HTML beyond checking its validity. */
interface HtmlVisitor<Data> extends ElementVisitor<Data> {
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

interface HtmlReading {
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
