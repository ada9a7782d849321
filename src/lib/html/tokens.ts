import { TokenizerMode } from 'parse5';

export interface HtmlProblem {
  /** One-based. */
  readonly line: number;
  /** One-based, in UTF-16 code units. */
  readonly column: number;
  /** `unexpected end tag </div>`. */
  readonly message: string;
}

/** More do not help to correct the text; fewer make clients resubmit it many times. */
export const HTML_PROBLEMS_MAX = 20;

/**
 * Maximum number of open elements. Blink shows no more (`kMaximumHTMLParserDOMTreeDepth`); deeper ones cost every
 * reader's mail program more than they show.
 */
export const HTML_DEPTH_MAX = 512;

/** Placeholder for an escaped value in the shape of html. A noncharacter, like `OUTPUT_START` of the templates. */
export const SHAPE_VALUE = '\uFDD0';

export interface HtmlChecker {
  /**
   * Returns the first problems in source order, at most `HTML_PROBLEMS_MAX`; an empty list means that the html is
   * valid.
   * Html that takes too long to check is a problem too.
   * @param organizationId organizations with waiting work take turns.
   * @param shape the html with each escaped value replaced by `SHAPE_VALUE`. If html is valid and the values in its
   * shape are text or quoted, all html of that shape is valid.
   * @throws {HtmlCheckUnavailable} the html was not checked because its turn did not come in time.
   */
  check(html: string, organizationId: string, shape?: string): Promise<readonly HtmlProblem[]>;
  close(): Promise<void>;
}

/** A fault of ours, worth a retry. */
export class HtmlCheckUnavailable extends Error {
  override readonly name = 'HtmlCheckUnavailable';
}

/** Tokens of HTML as the tokenizers report them. Offsets are UTF-16 code units from the beginning of the source. */

/** Valid until the next token. Attribute values are decoded on access. */
export interface StartTag {
  /** In lower case. */
  readonly name: string;
  /** Offset of its `<`. */
  readonly offset: number;
  /** Written `<div/>`, which does not close it. */
  readonly isSelfClosing: boolean;
  readonly hasAttributes: boolean;
  readonly attributes: readonly Attribute[];
  attribute(name: string): string | undefined;
}

export interface Attribute {
  /** In lower case. */
  readonly name: string;
  /** Range from its name to its closing quote. */
  readonly start: number;
  readonly end: number;
  /** Value with character references decoded. */
  readonly value: string;
}

/** Receives the tokens in the order of the source. */
export interface TokenHandler {
  startTag(tag: StartTag): void;
  /** @param offset of its `<`. */
  endTag(name: string, offset: number): void;
  /** Absent: the text is not needed. Text between two tags can come in several pieces. */
  readonly text: ((text: string, start: number) => void) | undefined;
  /** A comment, doctype or processing instruction begins. */
  other(offset: number): void;
  /** Name of the innermost open element; empty: none is open. */
  innermost(): string;
  /** The content here is SVG or MathML. */
  isInForeign(): boolean;
}

/** Facts about elements by name from the HTML Standard: which are void, end implicitly, or hold text. */

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** §13.1.2 void elements, and those that the parser treats as void (§13.2.6.4.7). */
export const VOID_ELEMENTS = names(
  'area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr',
);

/** §13.1.2.4 elements whose end tag may be left out. */
export const OPTIONAL_END = names(
  'html head body p li dt dd option optgroup rt rp rb rtc tr td th tbody thead tfoot colgroup caption',
);

/** §13.1.2.4: elements in which a paragraph needs its end tag. */
export const PARAGRAPH_END_REQUIRED_IN = names('a audio del ins map noscript video');

/** §13.2.4.2 "button scope": a search for an open element stops at these. */
const SCOPE_BOUNDARIES = names('applet caption html table td th marquee object template button');

/** §13.2.4.2 "table scope": in these, only the end tag of one of a table's own parts ends elements around them. */
const CELL_BOUNDARIES = names('caption table td th');
export const TABLE_PARTS = names('caption col colgroup table tbody td tfoot th thead tr');

/** The parser drops a second start tag of these elements. */
export const ONCE = names('html head body');

/** §13.2.6.4.7: the end tag of any heading ends the open one. */
export const HEADINGS = names('h1 h2 h3 h4 h5 h6');

/** §13.2.6.5: integration points; within these elements of SVG and MathML the content is HTML again. */
const INTEGRATION_POINTS = 'foreignobject desc title mi mo mn ms mtext';

/** §13.2.6.5: the start tag of one of these ends SVG or MathML. */
const BREAKOUT =
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta ' +
  'nobr ol p pre ruby s small span strong strike sub sup table tt u ul var';
const FOREIGN_BREAKOUT = names(BREAKOUT);
const HTML_IN_FOREIGN = names(`${INTEGRATION_POINTS} ${BREAKOUT}`);
const FOREIGN_ROOTS = names('svg math');

/** §13.2.6.4.7: elements whose start tags end an open paragraph. */
const PARAGRAPH_ENDERS =
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 ' +
  'h4 h5 h6 header hgroup hr listing main menu nav ol p plaintext pre search section summary table ul xmp';

const CELL_CONTENT = 'p li dt dd option optgroup rt rp rb rtc caption colgroup td th';
const ROW_CONTENT = `${CELL_CONTENT} tr`;
const SECTION_CONTENT = `${ROW_CONTENT} tbody thead tfoot`;
const RUBY_CONTENT = 'rb rt rp rtc';

/** Elements that each start tag ends when they are the innermost open ones. */
const ENDED_BY_START: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ...PARAGRAPH_ENDERS.split(' ').map((name) => [name, names('p')] as const),
  ['li', names('p li')],
  ['dt', names('p dt dd')],
  ['dd', names('p dt dd')],
  ['option', names('option')],
  ['optgroup', names('option optgroup')],
  ['hr', names('p option optgroup')],
  ['rb', names(RUBY_CONTENT)],
  ['rt', names('rt rp')],
  ['rp', names('rt rp')],
  ['rtc', names(RUBY_CONTENT)],
  ['td', names(CELL_CONTENT)],
  ['th', names(CELL_CONTENT)],
  ['tr', names(ROW_CONTENT)],
  ['tbody', names(SECTION_CONTENT)],
  ['thead', names(SECTION_CONTENT)],
  ['tfoot', names(SECTION_CONTENT)],
  ['colgroup', names('caption colgroup')],
  ['body', names('head')],
]);

/** Facts about a start tag from a single look-up. */
export interface ElementKind {
  readonly name: string;
  readonly isVoid: boolean;
  readonly isOnce: boolean;
  readonly isScopeBoundary: boolean;
  readonly isCellBoundary: boolean;
  readonly isForeignRoot: boolean;
  readonly isHtmlInForeign: boolean;
  readonly isForeignBreakout: boolean;
  /** The elements that its start tag ends when they are the innermost open ones. */
  readonly ends: ReadonlySet<string> | undefined;
}

const kind = (name: string): ElementKind => ({
  name,
  isVoid: VOID_ELEMENTS.has(name),
  isOnce: ONCE.has(name),
  isScopeBoundary: SCOPE_BOUNDARIES.has(name),
  isCellBoundary: CELL_BOUNDARIES.has(name),
  isForeignRoot: FOREIGN_ROOTS.has(name),
  isHtmlInForeign: HTML_IN_FOREIGN.has(name),
  isForeignBreakout: FOREIGN_BREAKOUT.has(name),
  ends: ENDED_BY_START.get(name),
});

/** The kinds of all names in the tables above; other names are rare in mail. */
const KINDS: ReadonlyMap<string, ElementKind> = new Map(
  [
    VOID_ELEMENTS,
    ONCE,
    OPTIONAL_END,
    SCOPE_BOUNDARIES,
    FOREIGN_ROOTS,
    HTML_IN_FOREIGN,
    PARAGRAPH_END_REQUIRED_IN,
    ENDED_BY_START,
  ].flatMap((named) => [...named.keys()].map((name) => [name, kind(name)] as const)),
);

export const kindOf = (name: string): ElementKind => KINDS.get(name) ?? kind(name);

type TextMode = (typeof TokenizerMode)[keyof typeof TokenizerMode];

/** §13.2.6.2: elements whose content is text up to their own end tag. In RCDATA, character references are decoded. */
export const TEXT_MODES: ReadonlyMap<string, TextMode> = new Map<string, TextMode>([
  ['title', TokenizerMode.RCDATA],
  ['textarea', TokenizerMode.RCDATA],
  ['style', TokenizerMode.RAWTEXT],
  ['xmp', TokenizerMode.RAWTEXT],
  ['iframe', TokenizerMode.RAWTEXT],
  ['noembed', TokenizerMode.RAWTEXT],
  ['noframes', TokenizerMode.RAWTEXT],
  ['script', TokenizerMode.SCRIPT_DATA],
  ['plaintext', TokenizerMode.PLAINTEXT],
]);

const REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;', // old mail programs do not know &apos;
};

/** Escapes text for html, between tags or in a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => REFERENCES[character] ?? '');
