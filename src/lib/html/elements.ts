import { TokenizerMode } from 'parse5';

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
