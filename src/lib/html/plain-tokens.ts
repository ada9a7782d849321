import { decodeHTML } from 'entities';
import { TEXT_MODES } from './elements.ts';
import { createTagReader, isLetter } from './plain-tag.ts';
import { ACCEPTED_BOGUS_COMMENT } from './problems.ts';
import type { TokenHandler } from './tokens.ts';

/** End of each text element: `</style` and a character that may follow a name. */
const TEXT_ENDS: ReadonlyMap<string, RegExp> = new Map(
  [...TEXT_MODES.keys()].map((name) => [name, new RegExp(`</${name}[\\t\\n\\f\\r />]`, 'gi')] as const),
);
const DECODED_TEXTS: ReadonlySet<string> = new Set(['title', 'textarea']);
const SLASH = 0x2f;
const GREATER = 0x3e;
const EXCLAMATION = 0x21;
const QUESTION = 0x3f;
const BLANK = /^[\t\n\f\r ]*$/;
const DOCTYPE = /<!doctype[\t\n\f\r >]/iy;

const decodeText = (text: string): string => (text.includes('&') ? decodeHTML(text) : text);

/** @param html well-formed, without NUL. */
export type ReadPlainTokens = (html: string, from: number, handler: TokenHandler) => PlainPart;

export interface PlainPart {
  /** Offset where it stopped: a `<` outside all tags, or the length of the html if all of it was read. */
  readonly end: number;
  /** It contains something other than comments and space. */
  readonly hasContent: boolean;
}

/**
 * Tokenizes plain markup, the common subset of HTML that needs no state machine, some five times as fast as the
 * standard's tokenizer. Stops at the first construct that is rare or wrong, where the standard's tokenizer takes over.
 */
export const readPlainTokens: ReadPlainTokens = (html, from, handler) => {
  const tags = createTagReader(html);
  let position = 0;
  /** Only comments, instructions and space so far: a doctype may come. */
  let isPrologue = true;

  const emitText = (start: number, end: number): void => {
    if (start < end) handler.text?.(decodeText(html.slice(start, end)), start);
  };

  // Each reader is called with `position` at a `<` and returns where to continue, or -1.

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

  /** `<!--` in a script may hide its end tag, and nothing ends `plaintext`. */
  const isPlainText = (name: string, text: string): boolean =>
    name !== 'plaintext' && !(name === 'script' && text.includes('<!--'));

  const endOfText = (name: string, start: number): number => {
    const end = TEXT_ENDS.get(name);
    if (end === undefined) return start;
    end.lastIndex = start;
    const found = end.exec(html)?.index ?? -1;
    return isPlainText(name, html.slice(start, found)) ? found : -1;
  };

  const emitElementText = (name: string, start: number, end: number): void => {
    if (DECODED_TEXTS.has(name)) emitText(start, end);
    else if (start < end) handler.text?.(html.slice(start, end), start);
  };

  const readStartTag = (): number => {
    const end = tags.readStart(position);
    if (end < 0) return -1;
    const textEnd = handler.isInForeign() ? end : endOfText(tags.name(), end);
    if (textEnd < 0) return -1;
    handler.startTag(tags.tag);
    emitElementText(tags.name(), end, textEnd);
    return textEnd;
  };

  /** Nearly all end tags match the innermost open element, and are spelled like it. */
  const isOfInnermost = (name: string): boolean =>
    name !== '' && html.charCodeAt(position + 2 + name.length) === GREATER && html.startsWith(name, position + 2);

  const readEndTag = (): number => {
    const innermost = handler.innermost();
    const isPlainEnd = isOfInnermost(innermost);
    const end = isPlainEnd ? position + innermost.length + 3 : tags.readEnd(position);
    if (end >= 0) handler.endTag(isPlainEnd ? innermost : tags.name(), position);
    return end;
  };

  const readComments = (isInstruction: boolean): number => {
    const end = isInstruction ? readInstruction() : readDeclaration();
    if (end >= 0) handler.other(position);
    return end;
  };

  /** `<` before anything else is text, as in `a < b`. */
  const readLessThan = (): number => {
    if (position + 1 === html.length) return -1;
    emitText(position, position + 1);
    return position + 1;
  };

  const readMarkup = (): number => {
    const next = html.charCodeAt(position + 1);
    if (isLetter(next)) return readStartTag();
    if (next === SLASH) return readEndTag();
    if (next === EXCLAMATION || next === QUESTION) return readComments(next === QUESTION);
    return readLessThan();
  };

  const readNext = (start: number): number => {
    const found = html.indexOf('<', start);
    position = found < 0 ? html.length : found;
    isPrologue &&= BLANK.test(html.slice(start, position));
    emitText(start, position);
    if (found < 0) return html.length;
    const next = readMarkup();
    isPrologue &&= html[position + 1] === '!' || html[position + 1] === '?';
    return next;
  };

  let next = from;
  while (next >= 0 && next < html.length) next = readNext(next);
  return { end: next < 0 ? position : html.length, hasContent: !isPrologue };
};
