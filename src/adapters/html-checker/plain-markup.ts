import { createNesting } from './nesting.ts';
import { ACCEPTED_BOGUS_COMMENT, BYTE_ORDER_MARK } from './parse-problems.ts';
import { createTagReader, isLetter } from './plain-tag.ts';
import { TEXT_MODES } from './text-modes.ts';

/** Ends a text element: `</style` and what may follow a name. */
const TEXT_ENDS: ReadonlyMap<string, RegExp> = new Map(
  [...TEXT_MODES.keys()].map((name) => [name, new RegExp(`</${name}[\\t\\n\\f\\r />]`, 'gi')] as const),
);
const SLASH = 0x2f;
const GREATER = 0x3e;
const BLANK = /^[\t\n\f\r ]*$/;
const DOCTYPE = /<!doctype[\t\n\f\r >]/iy;

/**
 * Whether the html is free of problems as far as a glance can tell: true is certain, false means that the standard's
 * tokenizer has to look. What is rare, and everything that is wrong, is left to that one; the rest is read here as it
 * would read it, some five times as fast, because nothing is kept of texts and values.
 */
export const isPlainlyValid = (html: string): boolean => {
  if (html.includes('\0') || !html.isWellFormed()) return false;
  let isPlain = true;
  const nesting = createNesting(() => {
    isPlain = false;
  });
  const tags = createTagReader(html);
  let position = 0;
  /** Nothing but comments, instructions and space so far: a doctype may come. */
  let isPrologue = true;

  /** Each reader is called with `position` at a `<` and answers where to go on, or -1. */
  const readComment = (): number => {
    // `<!-->` and `<!--->` are whole comments.
    const end = html.indexOf('-->', position + 2);
    return end < 0 || html.slice(position, end).includes('--!>') ? -1 : end + 3;
  };

  const readDoctype = (end: number): number => {
    DOCTYPE.lastIndex = position;
    if (!isPrologue || !DOCTYPE.test(html) || html.slice(position + 1, end).includes('<')) return -1;
    isPrologue = false;
    return end + 1;
  };

  const readDeclaration = (): number => {
    if (html.startsWith('--', position + 2)) return readComment();
    const end = html.indexOf('>', position);
    if (end < 0) return -1;
    return ACCEPTED_BOGUS_COMMENT.test(html.slice(position + 2, end)) ? end + 1 : readDoctype(end);
  };

  const readInstruction = (): number => {
    const end = html.indexOf('>', position);
    return end >= 0 && ACCEPTED_BOGUS_COMMENT.test(html.slice(position + 1, end)) ? end + 1 : -1;
  };

  /** What is hard to tell: `<!--` in a script may hide its end tag, and nothing ends `plaintext`. */
  const isPlainText = (name: string, text: string): boolean =>
    name !== 'plaintext' && !(name === 'script' && text.includes('<!--'));

  const skipText = (name: string, from: number): number => {
    const end = TEXT_ENDS.get(name);
    if (end === undefined) return from;
    end.lastIndex = from;
    const found = end.exec(html)?.index ?? -1;
    return isPlainText(name, html.slice(from, found)) ? found : -1;
  };

  const readStartTag = (): number => {
    const end = tags.readStart(position + 1);
    if (end < 0) return -1;
    const isForeign = nesting.isInForeign();
    nesting.startTag(tags.name(), position, tags.isSelfClosing());
    return isForeign ? end : skipText(tags.name(), end);
  };

  /** Nearly all end tags end what was opened last, and are written as it was. */
  const isOfInnermost = (name: string): boolean =>
    name !== '' && html.charCodeAt(position + 2 + name.length) === GREATER && html.startsWith(name, position + 2);

  const readEndTag = (): number => {
    const innermost = nesting.innermost();
    const isPlainEnd = isOfInnermost(innermost);
    const end = isPlainEnd ? position + innermost.length + 3 : tags.readEnd(position + 2);
    if (end >= 0) nesting.endTag(isPlainEnd ? innermost : tags.name(), position);
    return end;
  };

  /** Neither a start tag nor an end tag: nothing, a comment or the like, or text as in `a < b`. */
  const readOther = (next: string): number => {
    if (next === '!') return readDeclaration();
    if (next === '?') return readInstruction();
    return next === '' ? -1 : position + 1;
  };

  /** What is at a `<`. */
  const readMarkup = (): number => {
    const next = html.charCodeAt(position + 1);
    if (isLetter(next)) return readStartTag();
    return next === SLASH ? readEndTag() : readOther(html.charAt(position + 1));
  };

  const readNext = (from: number): number => {
    position = html.indexOf('<', from);
    if (position < 0) return html.length;
    isPrologue &&= BLANK.test(html.slice(from, position));
    const next = readMarkup();
    isPrologue &&= html[position + 1] === '!' || html[position + 1] === '?';
    return next;
  };

  let next = html.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  while (isPlain && next >= 0 && next < html.length) next = readNext(next);
  if (next >= 0) nesting.endOfInput(false);
  return isPlain && next >= 0;
};
