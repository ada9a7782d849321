/** What the HTML Standard says of elements by name, as far as open and closed goes. */

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** §13.1.2 void elements, and those that its parser treats so (§13.2.6.4.7). */
export const VOID_ELEMENTS = names(
  'area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr',
);

/** §13.1.2.4 elements whose end tag may be left out. */
export const OPTIONAL_END = names(
  'html head body p li dt dd option optgroup rt rp rb rtc tr td th tbody thead tfoot colgroup caption',
);

/** §13.1.2.4: in these a paragraph needs its end tag. */
export const PARAGRAPH_END_REQUIRED_IN = names('a audio del ins map noscript video');

/** §13.2.4.2: what is open outside of these is not looked for from inside ("button scope"). */
export const SCOPE_BOUNDARIES = names('applet caption html table td th marquee object template button');

/** Written at most once; the parser drops the tag of a second one. */
export const ONCE = names('html head body');

/** §13.2.6.4.7: the end tag of any of them ends the one that is open. */
export const HEADINGS = names('h1 h2 h3 h4 h5 h6');

/** §13.2.6.5: inside of SVG or MathML what follows one of these is HTML again (integration points). */
const INTEGRATION_POINTS = 'foreignobject desc title mi mo mn ms mtext';

/** §13.2.6.5: the parser ends SVG or MathML where one of these starts. */
const BREAKOUT =
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta ' +
  'nobr ol p pre ruby s small span strong strike sub sup table tt u ul var';
export const FOREIGN_BREAKOUT = names(BREAKOUT);
export const HTML_IN_FOREIGN = names(`${INTEGRATION_POINTS} ${BREAKOUT}`);
export const FOREIGN_ROOTS = names('svg math');

/** §13.2.6.4.7: their start tags end an open paragraph. */
const PARAGRAPH_ENDERS =
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 ' +
  'h4 h5 h6 header hgroup hr listing main menu nav ol p plaintext pre search section summary table ul xmp';

const CELL_CONTENT = 'p li dt dd option optgroup rt rp rb rtc caption colgroup td th';
const ROW_CONTENT = `${CELL_CONTENT} tr`;
const SECTION_CONTENT = `${ROW_CONTENT} tbody thead tfoot`;
const RUBY_CONTENT = 'rb rt rp rtc';

/** By start tag: the elements it ends when they are the innermost open ones. */
export const ENDED_BY_START: ReadonlyMap<string, ReadonlySet<string>> = new Map([
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
