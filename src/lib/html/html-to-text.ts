import { kindOf } from './elements.ts';
import { hiddenBySheets } from './hidden-by-sheets.ts';
import { readHtml } from './read-html.ts';
import { type TextElement, textElement } from './text-elements.ts';
import { createTextLines, GAP, type TextLines } from './text-lines.ts';
import type { StartTag } from './tokens.ts';

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
