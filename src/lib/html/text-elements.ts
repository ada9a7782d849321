import { GAP, type Gap } from './text-lines.ts';

/** How an element is shown in plain text. */
export interface TextElement {
  readonly name: string;
  /** Gap before and after it. */
  readonly gap: Gap;
  readonly isBlock: boolean;
  readonly isVoid: boolean;
  /** Its content is not for readers. */
  readonly isSkipped: boolean;
  readonly isList: boolean;
  /** Its white space is preserved. */
  readonly isPreformatted: boolean;
  /** Its lines begin with a mark or are indented. */
  readonly isIndented: boolean;
  readonly isRow: boolean;
  readonly isCell: boolean;
  /** Links end at its boundary. */
  readonly isScope: boolean;
}

/** Unknown elements are inline. */
const INLINE: TextElement = {
  name: '',
  gap: GAP.none,
  isBlock: false,
  isVoid: false,
  isSkipped: false,
  isList: false,
  isPreformatted: false,
  isIndented: false,
  isRow: false,
  isCell: false,
  isScope: false,
};

const ELEMENTS = new Map<string, TextElement>();

const define = (names: string, traits: Partial<TextElement>): void => {
  for (const name of names.split(' ')) ELEMENTS.set(name, { ...(ELEMENTS.get(name) ?? INLINE), name, ...traits });
};

const line = { gap: GAP.line, isBlock: true };
const blank = { gap: GAP.blank, isBlock: true };

define('a', {});
define('area base col embed input link meta param source track wbr img br hr', { isVoid: true });
define('script style title template xml svg math iframe object noembed noframes noscript datalist', {
  isSkipped: true,
});
define('article aside section header footer main nav', line);
define('div address center details summary figure figcaption', line);
define('form fieldset legend select textarea menu dir body option optgroup li dt dd', line);
define('p h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre listing xmp', blank);
define('table', { ...blank, isScope: true });
define('caption', { ...line, isScope: true });
define('thead tbody tfoot', { isBlock: true });
define('tr', { isBlock: true, isRow: true });
define('td th', { isBlock: true, isCell: true, isScope: true });
define('ul ol menu dir', { isList: true });
define('pre textarea listing xmp', { isPreformatted: true });
define('li dd blockquote', { isIndented: true });

export const textElement = (name: string): TextElement => ELEMENTS.get(name) ?? INLINE;
