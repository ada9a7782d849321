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

const NOWHERE = -1;
const TABLES = [textElement('table').id];

export interface OpenTextElement {
  readonly element: TextElement;
  /** It and what is around it are shown. */
  readonly isShown: boolean;
  /** The number of the next item, if it is a list that numbers them. */
  next: number;
  /** Lines of text before it, if it is a row. */
  linesBefore: number;
  /** Where the next one outwards of this name is. */
  readonly sameName: number;
  /** The cell, and the block, that it is in. */
  readonly scope: number;
  readonly block: number;
}

export interface OpenTextElements {
  push(element: TextElement, isHidden: boolean): OpenTextElement;
  /** What its start tag ends without saying so. */
  endImplied(element: TextElement): void;
  /** False for an end tag that ends nothing. */
  end(element: TextElement): boolean;
  endAll(): void;
  /** The innermost of these, if it is open. */
  nearest(ids: readonly number[]): OpenTextElement | undefined;
  isHidden(): boolean;
}

/**
 * The open elements. Each knows where the next of its name, the cell and the block around it are, so nothing is ever
 * searched for: time is linear in the tags, however deep and however wrongly they are nested.
 */
export const createOpenTextElements = (onEnd: (open: OpenTextElement) => void): OpenTextElements => {
  const stack: OpenTextElement[] = [];
  /** By id, where in the stack the innermost is. */
  const last: number[] = new Array(TEXT_ELEMENTS).fill(NOWHERE);
  let scope = NOWHERE;
  let block = NOWHERE;
  let hiddenFrom = Number.POSITIVE_INFINITY;

  const positionOf = (id: number): number => last[id] ?? NOWHERE;

  const innermost = (ids: readonly number[]): number => {
    let position = NOWHERE;
    for (const id of ids) position = Math.max(position, positionOf(id));
    return position;
  };

  const pop = (): void => {
    const open = stack.pop();
    if (open === undefined) return;
    last[open.element.id] = open.sameName;
    ({ scope, block } = open);
    if (stack.length <= hiddenFrom) hiddenFrom = Number.POSITIVE_INFINITY;
    onEnd(open);
  };

  /** End tags look no further out than here. */
  const limitOf = ({ isTablePart, isBlock }: TextElement): number => {
    if (isTablePart) return innermost(TABLES);
    return isBlock ? scope : Math.max(scope, block);
  };

  const popTo = (position: number): void => {
    while (stack.length > position) pop();
  };

  return {
    push: (element, isHidden) => {
      const position = stack.length;
      if (isHidden) hiddenFrom = Math.min(hiddenFrom, position);
      const isShown = position < hiddenFrom;
      const open = { element, isShown, next: 1, linesBefore: 0, sameName: positionOf(element.id), scope, block };
      stack.push(open);
      last[element.id] = position;
      if (element.isScope) scope = position;
      if (element.isBlock) block = position;
      return open;
    },
    endImplied: ({ ends, within }) => {
      if (ends.length === 0) return;
      const from = innermost(within);
      for (const id of ends) if (positionOf(id) > from) popTo(positionOf(id));
    },
    end: (element) => {
      const position = positionOf(element.id);
      if (position === NOWHERE || position < limitOf(element)) return false;
      popTo(position);
      return true;
    },
    endAll: () => popTo(0),
    nearest: (names) => stack[innermost(names)],
    isHidden: () => hiddenFrom < stack.length,
  };
};
