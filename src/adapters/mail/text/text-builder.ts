import { createOpenTextElements, ITEMS, LISTS, type OpenTextElement, type TextElement } from './text-elements.ts';
import { createTextLines, GAP } from './text-lines.ts';
import { createTextLinks } from './text-links.ts';

/** What stands before lines, at most: each level of nesting costs every line of it, and takes room from its words. */
const PREFIX_CHARACTERS_MAX = 24;

interface Level {
  /** Before the first line of the level, after the prefix of the level around it. */
  readonly mark: string;
  /** Before each further line, with those of all levels around it. */
  readonly rest: string;
  readonly outer: Level | undefined;
  readonly depth: number;
  /** No line of it has begun. */
  isFresh: boolean;
}

export interface LinePrefixes {
  /** From now on lines begin with this: the first with `mark`, the others with `rest`. */
  enter(mark: string, rest: string): void;
  leave(): void;
  /** Of the line that begins now; list marks are used up by it. */
  first(): string;
  /** Of the lines that continue it. */
  rest(): string;
  /** Of an empty line before the one that begins now: what it shares with the line above. */
  blank(): string;
}

/** The prefixes of lines in nested quotes and lists: `> `, `* `, `1. `. Each operation is O(1) on average. */
export const createLinePrefixes = (): LinePrefixes => {
  let top: Level = { mark: '', rest: '', outer: undefined, depth: 0, isFresh: false };
  /** The outermost level that was the innermost one at some time since the last line began. */
  let outermost = top;

  const enter = (mark: string, rest: string): void => {
    const isKept = top.rest.length + rest.length <= PREFIX_CHARACTERS_MAX;
    const own = isKept ? { mark, rest: top.rest + rest, isFresh: true } : { mark: '', rest: top.rest, isFresh: false };
    top = { ...own, outer: top, depth: top.depth + 1 };
  };

  const leave = (): void => {
    top = top.outer ?? top;
    if (top.depth < outermost.depth) outermost = top;
  };

  const first = (): string => {
    let marks = '';
    let level = top;
    while (level.isFresh && level.outer !== undefined) {
      marks = level.mark + marks;
      level.isFresh = false;
      level = level.outer;
    }
    outermost = top;
    return level.rest + marks;
  };

  return { enter, leave, first, rest: () => top.rest, blank: () => outermost.rest.trimEnd() };
};

/** What previews are hidden with: they are shown before the mail is opened, and say what its beginning says. */
const HIDDEN = /display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all|max-height\s*:\s*0(?:px)?\s*(?:;|!|$)/i;
const RULE = '-'.repeat(40);
/** Numbers beyond it are none that anyone counts to, and would indent their text out of sight. */
const ITEM_NUMBER_MAX = 999_999;
/** A picture that says something is a word of its own; a smiley belongs to the text around it. */
const WORDS = /[\p{L}\p{N}]/u;

/** Those that mean something to a text; undefined where the tag does not have it. */
export type Attributes = Readonly<Record<'alt' | 'hidden' | 'href' | 'start' | 'style' | 'value', string | undefined>>;

export interface TextBuilder {
  start(element: TextElement, attributes: Attributes, isSelfClosed: boolean): void;
  end(element: TextElement): void;
  text(chunk: string): void;
  finish(): string;
}

const isHidden = ({ hidden, style }: Attributes): boolean =>
  hidden !== undefined || (style !== undefined && HIDDEN.test(style));

const itemNumber = (value: string | undefined, otherwise: number): number => {
  if (value === undefined) return otherwise;
  const number = Number.parseInt(value, 10);
  return number >= 0 && number <= ITEM_NUMBER_MAX ? number : otherwise;
};

/** What start tags, end tags and text mean for the lines of a text. */
export const createTextBuilder = (): TextBuilder => {
  const lines = createTextLines();
  const links = createTextLinks(lines);
  let preformatted = 0;

  const endShown = ({ element, linesBefore }: OpenTextElement): void => {
    if (element.isScope) links.end();
    if (element.isPreformatted) preformatted -= 1;
    if (element.isIndented) lines.leave();
    if (element.isRow) lines.endRow(linesBefore);
    around(element, lines.endCell);
  };

  const open = createOpenTextElements((ended) => {
    if (ended.isShown) endShown(ended);
  });

  const around = ({ gap, isList, isCell }: TextElement, cell: () => void): void => {
    if (isCell) cell();
    else if (isList && open.nearest(ITEMS) !== undefined) lines.gap(GAP.line);
    else if (gap !== GAP.none) lines.gap(gap);
  };

  const startItem = (attributes: Attributes): void => {
    const list = open.nearest(LISTS);
    if (list?.element.name !== 'ol') {
      lines.enter('* ', '  ');
      return;
    }
    const number = itemNumber(attributes.value, list.next);
    list.next = number + 1;
    const mark = `${number}. `;
    lines.enter(mark, ' '.repeat(mark.length));
  };

  const indent = ({ name }: TextElement, attributes: Attributes): void => {
    if (name === 'li') startItem(attributes);
    else if (name === 'blockquote') lines.enter('> ', '> ');
    else lines.enter('  ', '  ');
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

  const startVoid = ({ name }: TextElement, attributes: Attributes): void => {
    if (name === 'br') lines.lineBreak();
    else if (name === 'hr') lines.rule(RULE);
    else if (name === 'img') image(attributes.alt);
  };

  const startBlock = (element: TextElement, attributes: Attributes): void => {
    around(element, lines.startCell);
    const opened = open.push(element, false);
    if (element.isRow) opened.linesBefore = lines.startRow();
    if (element.isList) opened.next = itemNumber(attributes.start, 1);
    if (element.isPreformatted) preformatted += 1;
    if (element.isIndented) indent(element, attributes);
  };

  /** Elements in a line mean nothing to it, so nobody remembers that they are open. */
  const startShown = (element: TextElement, attributes: Attributes): void => {
    if (element.isBlock) startBlock(element, attributes);
    else if (element.isVoid) startVoid(element, attributes);
    else if (element.name === 'a') links.start(attributes.href ?? '');
  };

  const endUnopened = ({ name }: TextElement): void => {
    if (name === 'a') links.end();
    else if (name === 'br') lines.lineBreak();
    else if (name === 'p') lines.gap(GAP.blank);
  };

  return {
    start: (element, attributes, isSelfClosed) => {
      open.endImplied(element);
      const isConcealed = open.isHidden() || element.isSkipped || isHidden(attributes);
      if (!isConcealed) startShown(element, attributes);
      else if (element.isVoid) return;
      // `<svg/>`, `<o:p/>`: html lets few elements close themselves, but what is hidden should not be more than meant.
      else if (element.isBlock || !isSelfClosed) open.push(element, true);
    },
    end: (element) => {
      if (!open.end(element) && !open.isHidden()) endUnopened(element);
    },
    text: (chunk) => {
      if (open.isHidden()) return;
      links.text(chunk);
      if (preformatted > 0) lines.preformatted(chunk);
      else lines.text(chunk);
    },
    finish: () => {
      links.end();
      open.endAll();
      return lines.finish();
    },
  };
};
