import { readHtml } from './read-html.ts';
import { createTextLines, GAP, type Gap, type TextLines } from './text-lines.ts';
import { kindOf, type StartTag } from './tokens.ts';

/**
 * Elements that the style sheets of a mail hide by a class or an id, mostly previews. Only unconditional rules count,
 * not those of `@media`. Time is linear in the size.
 */

const SIMPLE = /^[a-z0-9]*([.#][\w-]+)$/i;
const BRACES = /([{}])/;

const withoutComments = (css: string): string =>
  css
    .split('*/')
    .map((piece) => piece.split('/*', 1)[0] ?? '')
    .join(' ');

const sheetsIn = function* (html: string): Generator<string> {
  const lower = html.toLowerCase();
  for (let at = lower.indexOf('<style'); at >= 0; at = lower.indexOf('<style', at)) {
    const end = lower.indexOf('</style', at);
    if (end < 0) return;
    yield html.slice(html.indexOf('>', at) + 1, end);
    at = end;
  }
};

interface Rule {
  readonly selectors: string;
  readonly declarations: string;
}

interface Place {
  readonly depth: number;
  readonly selectors: string;
  readonly before: string;
}

const step = (at: Place, piece: string): Place => {
  const { depth, selectors, before } = at;
  if (piece === '}') return { ...at, depth: Math.max(0, depth - 1) };
  return piece === '{'
    ? { depth: depth + 1, selectors: depth === 0 ? before : selectors, before: '' }
    : { ...at, before: piece };
};

/** Top-level rules. */
const rulesIn = (css: string): readonly Rule[] => {
  const rules: Rule[] = [];
  let at: Place = { depth: 0, selectors: '', before: '' };
  for (const piece of withoutComments(css).split(BRACES)) {
    if (piece === '}' && at.depth === 1) rules.push({ selectors: at.selectors, declarations: at.before });
    at = step(at, piece);
  }
  return rules;
};

const namesIn = ({ selectors }: Rule): readonly string[] =>
  selectors
    .slice(selectors.lastIndexOf(';') + 1)
    .split(',')
    .flatMap((selector) => SIMPLE.exec(selector.trim())?.[1] ?? []);

/** @returns true for an element that a sheet hides. @param hides true for declarations that hide an element. */
const hiddenBySheets = (html: string, hides: (declarations: string) => boolean): ((tag: StartTag) => boolean) => {
  const rules = [...sheetsIn(html)].flatMap(rulesIn);
  const hidden = new Set(rules.filter(({ declarations }) => hides(declarations)).flatMap(namesIn));
  if (hidden.size === 0) return () => false;
  return ({ hasAttributes, attribute }) => {
    if (!hasAttributes) return false;
    const classes = (attribute('class') ?? '').split(/\s+/);
    return hidden.has(`#${attribute('id')}`) || classes.some((name) => hidden.has(`.${name}`));
  };
};

/** How an element is shown in plain text. */
interface TextElement {
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

const textElement = (name: string): TextElement => ELEMENTS.get(name) ?? INLINE;

/** The plain text derived from HTML: a visitor that turns elements into lines. */

/** Targets that a reader cannot open: scripts, embedded data, parts of the same mail. */
const NO_TARGET = /^(?:#|javascript:|vbscript:|data:|cid:|about:)/i;
/** Schemes that are omitted from the visible text. */
const ADDRESS = /^(?:mailto|tel|sms):/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: browsers take them out of addresses
const UNREAD = /[\0-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

const comparable = (value: string): string =>
  value.replace(UNREAD, '').replace(/\s+/g, '').replace(/\/$/, '').toLowerCase();

const digits = (value: string): string => value.replace(UNREAD, '').replace(/[\s()./-]/g, '');

/** The part of a link that is shown: without instructions to the mail program (`?subject=`). */
const targetOf = (href: string): string => {
  const address = href.replace(UNREAD, '').trim();
  if (NO_TARGET.test(address)) return '';
  if (!ADDRESS.test(address)) return address.replace(/\s/g, '%20');
  return address.replace(ADDRESS, '').replace(/\?.*$/s, '').replace(/\s/g, '');
};

/** The address added after the text of a link; empty if the text already says it. */
const linkTarget = (href: string, text: string): string => {
  const target = targetOf(href);
  if (target === '' || comparable(target) === comparable(text)) return '';
  return ADDRESS.test(href.trim()) && digits(target) === digits(text) ? '' : target;
};

interface Link {
  readonly href: string;
  /** The part of the link's text that is needed to compare it with the href. */
  text: string;
  readonly piecesBefore: number;
  hasUnnamedImage: boolean;
}

/** `text [href]`: links do not nest, and one without visible text is left out. */
const createTextLinks = (lines: TextLines) => {
  let link: Link | undefined;

  const show = ({ href, text, piecesBefore, hasUnnamedImage }: Link): void => {
    const target = linkTarget(href, text);
    if (target === '') return;
    if (lines.pieces() > piecesBefore) lines.suffix(`[${target}]`);
    // An image without a name can be all there is of a button.
    else if (hasUnnamedImage) lines.text(`[${target}]`);
  };

  const end = (): void => {
    if (link !== undefined) show(link);
    link = undefined;
  };

  return {
    end,
    start: (href: string): void => {
      end();
      link = { href, text: '', piecesBefore: lines.pieces(), hasUnnamedImage: false };
    },
    text: (chunk: string): void => {
      if (link !== undefined && link.text.length <= link.href.length) link.text += chunk;
    },
    unnamedImage: (): void => {
      if (link !== undefined) link.hasUnnamedImage = true;
    },
  };
};

/** Styles that hide previews: text that is shown before the mail is opened, and repeats its beginning. */
const HIDDEN = /display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all|max-height\s*:\s*0(?:px)?\s*(?:;|!|$)/i;
const RULE = '-'.repeat(40);
/** A higher number is a mistake, and would indent its text out of sight. */
const ITEM_NUMBER_MAX = 999_999;
/** An image whose alternative has letters is a word of its own; a smiley belongs to the text around it. */
const WORDS = /[\p{L}\p{N}]/u;

/** Context that an element passes on to its children. Inline elements pass on their own surroundings. */
interface Surroundings {
  readonly element: TextElement;
  readonly isShown: boolean;
  readonly isPreformatted: boolean;
  readonly isInItem: boolean;
  /** Only inline elements are open around it. */
  readonly isInParagraph: boolean;
  /** The cell contains it directly, not through a nested table. */
  readonly isInCell: boolean;
  /** The innermost list. */
  readonly list: List | undefined;
  /** Lines of text before the element, if it is a row. */
  readonly linesBefore: number;
}

interface List {
  readonly isNumbered: boolean;
  nextNumber: number;
}

const ROOT: Surroundings = {
  element: textElement(''),
  isShown: true,
  isPreformatted: false,
  isInItem: false,
  isInParagraph: false,
  isInCell: false,
  list: undefined,
  linesBefore: 0,
};

const endsParagraph = ({ name }: StartTag): boolean => kindOf(name).ends?.has('p') ?? false;

const isHidden = ({ hasAttributes, attribute }: StartTag): boolean =>
  hasAttributes && (attribute('hidden') !== undefined || HIDDEN.test(attribute('style') ?? ''));

const itemNumber = (value: string | undefined, otherwise: number): number => {
  const number = Number.parseInt(value ?? '', 10);
  return number >= 0 && number <= ITEM_NUMBER_MAX ? number : otherwise;
};

const listOf = ({ name, attribute }: StartTag): List => ({
  isNumbered: name === 'ol',
  nextNumber: itemNumber(attribute('start'), 1),
});

const surroundingsIn = (
  element: TextElement,
  tag: StartTag,
  outer: Surroundings,
  linesBefore: number,
): Surroundings => ({
  element,
  isShown: true,
  isPreformatted: outer.isPreformatted || element.isPreformatted,
  isInItem: outer.isInItem || tag.name === 'li',
  isInParagraph: tag.name === 'p',
  isInCell: element.isCell || (outer.isInCell && tag.name !== 'table'),
  list: element.isList ? listOf(tag) : outer.list,
  linesBefore,
});

/**
 * The text alternative of a body that came as HTML only: links in brackets, images as their alternatives, lines of 78
 * characters where words allow it. Time and memory are linear in the size for any html.
 */
export const htmlToText = (html: string): string => {
  const lines = createTextLines();
  const links = createTextLinks(lines);
  const isHiddenBySheet = hiddenBySheets(html, (declarations) => HIDDEN.test(declarations));

  const setApart = ({ gap, isList, isCell }: TextElement, { isInItem }: Surroundings, cell: () => void): void => {
    if (isCell) cell();
    else if (isList && isInItem) lines.gap(GAP.line);
    else if (gap !== GAP.none) lines.gap(gap);
  };

  /** `1. `. */
  const nextMark = ({ attribute }: StartTag, list: List): string => {
    const number = itemNumber(attribute('value'), list.nextNumber);
    list.nextNumber = number + 1;
    return `${number}. `;
  };

  const indent = (tag: StartTag, list: List | undefined): void => {
    const { name } = tag;
    if (name === 'li') {
      const mark = list?.isNumbered ? nextMark(tag, list) : '* ';
      lines.enter(mark, ' '.repeat(mark.length));
    } else if (name === 'blockquote') lines.enter('> ', '> ');
    else lines.enter('  ', '  ');
  };

  /** Ends the elements that the start tag would end if no inline element were open inside them. */
  const leaveUnclosed = ({ isCell }: TextElement, tag: StartTag, { isInCell, isInParagraph }: Surroundings): void => {
    if (isCell && isInCell) links.end();
    if (isInParagraph && endsParagraph(tag)) lines.gap(GAP.blank);
  };

  const startBlock = (element: TextElement, tag: StartTag, outer: Surroundings): Surroundings => {
    leaveUnclosed(element, tag, outer);
    setApart(element, outer, lines.startCell);
    if (element.isIndented) indent(tag, outer.list);
    return surroundingsIn(element, tag, outer, element.isRow ? lines.startRow() : 0);
  };

  const image = (alt: string | undefined): void => {
    if (alt === undefined) {
      links.unnamedImage();
      return;
    }
    const around = WORDS.test(alt) ? GAP.space : GAP.none;
    lines.gap(around);
    lines.text(alt);
    links.text(alt);
    lines.gap(around);
  };

  const showVoid = ({ name, attribute }: StartTag): void => {
    if (name === 'br') lines.lineBreak();
    else if (name === 'hr') lines.rule(RULE);
    else if (name === 'img') image(attribute('alt'));
  };

  const startShown = (element: TextElement, tag: StartTag, outer: Surroundings): Surroundings => {
    if (element.isBlock) return startBlock(element, tag, outer);
    if (element.isVoid) showVoid(tag);
    if (element.name !== 'a') return outer;
    links.start(tag.attribute('href') ?? '');
    return { ...outer, element };
  };

  const endBlock = ({ element, linesBefore }: Surroundings, outer: Surroundings): void => {
    if (element.isScope) links.end();
    if (element.isIndented) lines.leave();
    if (element.isRow) lines.endRow(linesBefore);
    setApart(element, outer, lines.endCell);
  };

  readHtml<Surroundings>(html, {
    root: ROOT,
    start: (tag, outer) => {
      if (!outer.isShown) return outer;
      const element = textElement(tag.name);
      if (!element.isSkipped && !isHidden(tag) && !isHiddenBySheet(tag)) return startShown(element, tag, outer);
      // HTML lets few elements close themselves, but no more should be hidden than was meant: `<o:p/>`.
      return tag.isSelfClosing && !element.isBlock ? outer : { ...outer, element, isShown: false };
    },
    end: (inner, outer) => {
      if (inner === outer || !inner.isShown) return;
      if (inner.element.isBlock) endBlock(inner, outer);
      else links.end();
    },
    strayEnd: (name, { isShown }) => {
      if (!isShown) return;
      if (name === 'a') links.end();
      else if (name === 'br') lines.lineBreak();
      else if (name === 'p') lines.gap(GAP.blank);
    },
    text: ({ text }, { isShown, isPreformatted }) => {
      if (!isShown) return;
      links.text(text);
      if (isPreformatted) lines.preformatted(text);
      else lines.text(text);
    },
  });
  links.end();
  return lines.finish();
};
