import { GAP, type Gap } from './text-lines.ts';

/** How an element is read into text. */
export interface TextElement {
  /** Of its name, below `TEXT_ELEMENTS`; 0 for all that we do not know, which are part of their line. */
  readonly id: number;
  readonly name: string;
  /** Before and behind it. */
  readonly gap: Gap;
  readonly isBlock: boolean;
  readonly isVoid: boolean;
  /** Nothing in it is for readers. */
  readonly isSkipped: boolean;
  readonly isList: boolean;
  /** Its white space stays. */
  readonly isPreformatted: boolean;
  /** Its lines begin with something. */
  readonly isIndented: boolean;
  readonly isTablePart: boolean;
  readonly isRow: boolean;
  readonly isCell: boolean;
  /** End tags in it do not end what is around it (HTML §13.2.4.2 "in table scope", near enough). */
  readonly isScope: boolean;
  /** Open elements that its start tag ends, if they were opened inside of the last of `within`. */
  readonly ends: readonly number[];
  readonly within: readonly number[];
}

const UNKNOWN: TextElement = {
  id: 0,
  name: '',
  gap: GAP.none,
  isBlock: false,
  isVoid: false,
  isSkipped: false,
  isList: false,
  isPreformatted: false,
  isIndented: false,
  isTablePart: false,
  isRow: false,
  isCell: false,
  isScope: false,
  ends: [],
  within: [],
};

const ELEMENTS = new Map<string, TextElement>();

const idsOf = (names: string): number[] => names.split(' ').map((name) => ELEMENTS.get(name)?.id ?? add(name, {}).id);

const add = (name: string, traits: Partial<TextElement>): TextElement => {
  const known = ELEMENTS.get(name) ?? { ...UNKNOWN, id: ELEMENTS.size + 1, name };
  const element = { ...known, ...traits };
  ELEMENTS.set(name, element);
  return element;
};

const define = (names: string, traits: Partial<TextElement>): void => {
  for (const name of names.split(' ')) add(name, traits);
};

const line = { gap: GAP.line, isBlock: true };
const blank = { gap: GAP.blank, isBlock: true };
const paragraph = { ends: idsOf('p'), within: idsOf('table td th caption') };
const inTable = { isBlock: true, isTablePart: true, within: idsOf('table') };

define('a abbr b big button cite code del em font i ins label q s small span strong sub sup time tt u', {});
define('area base col embed input link meta param source track wbr img br hr', { isVoid: true });
define('script style title template xml svg math iframe object noembed noframes datalist', { isSkipped: true });
define('article aside section header footer main nav', { ...line, ...paragraph });
define('div address center details summary figure figcaption', { ...line, ...paragraph });
define('form fieldset legend select textarea menu dir body', line);
define('p h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre listing xmp', { ...blank, ...paragraph });
define('option optgroup', { ...line, ends: idsOf('option'), within: idsOf('select') });
define('li', { ...line, ends: idsOf('li'), within: idsOf('ul ol table td th') });
define('dt dd', { ...line, ends: idsOf('dt dd'), within: idsOf('dl table td th') });
define('table', { ...blank, isScope: true, isTablePart: true });
define('caption', { ...line, isScope: true, isTablePart: true });
define('thead tbody tfoot', { ...inTable, ends: idsOf('thead tbody tfoot') });
define('tr', { ...inTable, isRow: true, ends: idsOf('tr') });
define('td th', { ...inTable, isCell: true, isScope: true, ends: idsOf('td th') });
define('ul ol menu dir', { isList: true });
define('pre textarea listing xmp', { isPreformatted: true });
define('li dd blockquote', { isIndented: true });

/** More than any id. */
export const TEXT_ELEMENTS = ELEMENTS.size + 1;

export const LISTS = idsOf('ul ol menu dir');
export const ITEMS = idsOf('li');

/** Names come in any case; nearly all come in lower case. */
export const textElement = (name: string): TextElement =>
  ELEMENTS.get(name) ?? ELEMENTS.get(name.toLowerCase()) ?? UNKNOWN;
