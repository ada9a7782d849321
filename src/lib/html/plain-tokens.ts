import { decodeHTML, decodeHTMLAttribute } from 'entities';
import { ACCEPTED_BOGUS_COMMENT } from './problems.ts';
import { type Attribute, type StartTag, TEXT_MODES, type TokenHandler } from './tokens.ts';

/** A set of ASCII characters, by code. */
const ascii = (characters: string): Uint8Array => {
  const set = new Uint8Array(128);
  for (const character of characters) set[character.charCodeAt(0)] = 1;
  return set;
};

const LETTER = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const SPACE = '\t\n\f\r ';
const LETTERS = ascii(LETTER);
const SPACES = ascii(SPACE);
/** Characters between attributes. §13.2.5.40: a slash that does not end a tag is treated as a space. */
const BETWEEN_ATTRIBUTES = ascii(`${SPACE}/`);
const NAMES = ascii(`${LETTER}0123456789-_:.@*#$[]()`);
/** Characters that end an unquoted value, or are not allowed in one. */
const NOT_IN_VALUES = ascii(`${SPACE}>"'<=\``);
const QUOTES = ascii('"\'');

const SLASH = 0x2f;
const EQUALS = 0x3d;
const GREATER = 0x3e;
/** Bit that turns a capital letter into a small one. */
const LOWER = 0x20;

const isLetter = (code: number): boolean => LETTERS[code] === 1;

const has = (set: Uint8Array, code: number): boolean => set[code] === 1;

/**
 * Limit for comparing every pair of names. A tag with more attributes is left to the standard's tokenizer, which has a
 * set.
 */
const ATTRIBUTES_MAX = 24;

/** Adds a character to a case-insensitive hash. */
const hashed = (hash: number, code: number): number => (Math.imul(hash, 31) + (code | LOWER)) | 0;

const HASHES = new Map<string, number>();

/** @param name one of the few that callers look up. */
const hashOf = (name: string): number => {
  const known = HASHES.get(name);
  if (known !== undefined) return known;
  const hash = Array.from(name, (character) => character.charCodeAt(0)).reduce(hashed, 0);
  HASHES.set(name, hash);
  return hash;
};

const UPPER = /[A-Z]/;
const lower = (name: string): string => (UPPER.test(name) ? name.toLowerCase() : name);

const decodeValue = (value: string): string => (value.includes('&') ? decodeHTMLAttribute(value) : value);

/**
 * Reads single tags in plain markup: known characters in names, no attribute twice, terminated values. Each function
 * accepts an offset and returns where to continue, or -1 if the tag is not plain. The results of the last read are
 * queried afterwards.
 */
const createTagReader = (html: string) => {
  // Written by index: emptying an array would reallocate its elements for each tag.
  /** Hashes of the attributes' names: equal for equal names, and for few others. */
  const hashes: number[] = [];
  /** Start and end of each attribute's name, start and end of its value. */
  const places: number[] = [];
  let count = 0;
  let name = '';
  let isSelfClosing = false;
  let offset = 0;

  const isKnown = (hash: number): boolean => {
    for (let index = 0; index < count; index += 1) if (hashes[index] === hash) return true;
    return false;
  };

  const keepName = (hash: number, start: number, end: number): void => {
    hashes[count] = hash;
    places[count * 4] = start;
    places[count * 4 + 1] = end;
  };

  const keepValue = (start: number, end: number): void => {
    places[count * 4 + 2] = start;
    places[count * 4 + 3] = end;
    count += 1;
  };

  const skip = (set: Uint8Array, from: number): number => {
    let at = from;
    while (has(set, html.charCodeAt(at))) at += 1;
    return at;
  };

  const readName = (from: number): number => {
    const end = skip(NAMES, from);
    if (!has(LETTERS, html.charCodeAt(from))) return -1;
    name = lower(html.slice(from, end));
    return end;
  };

  const readUnquoted = (from: number): number => {
    let at = from;
    while (at < html.length && !has(NOT_IN_VALUES, html.charCodeAt(at))) at += 1;
    const end = html.charCodeAt(at);
    keepValue(from, at);
    return at > from && (end === GREATER || has(SPACES, end)) ? at : -1;
  };

  const readValue = (from: number): number => {
    const at = skip(SPACES, from);
    if (!has(QUOTES, html.charCodeAt(at))) return readUnquoted(at);
    const end = html.indexOf(html.charAt(at), at + 1);
    keepValue(at + 1, end);
    return end < 0 ? -1 : end + 1;
  };

  const readAttribute = (from: number): number => {
    let end = from;
    let hash = 0;
    for (let code = html.charCodeAt(end); has(NAMES, code); code = html.charCodeAt(end)) {
      hash = hashed(hash, code);
      end += 1;
    }
    if (end === from || count === ATTRIBUTES_MAX || isKnown(hash)) return -1;
    keepName(hash, from, end);
    const next = skip(SPACES, end);
    if (html.charCodeAt(next) === EQUALS) return readValue(next + 1);
    keepValue(end, end);
    return next;
  };

  const readAttributes = (from: number): number => {
    let at = skip(BETWEEN_ATTRIBUTES, from);
    // A slash in an unquoted value is part of the value: only one that was skipped here closes the tag.
    let skipped = at > from;
    while (at >= 0 && html.charCodeAt(at) !== GREATER) {
      const end = readAttribute(at);
      if (end < 0) return -1;
      at = skip(BETWEEN_ATTRIBUTES, end);
      skipped = at > end;
    }
    isSelfClosing = skipped && html.charCodeAt(at - 1) === SLASH;
    return at + 1;
  };

  const nameAt = (index: number): string => lower(html.slice(places[index * 4], places[index * 4 + 1]));
  const valueAt = (index: number): string => decodeValue(html.slice(places[index * 4 + 2], places[index * 4 + 3]));

  const attributeAt = (index: number): Attribute => {
    const [start = 0, nameEnd = 0, , valueEnd = 0] = places.slice(index * 4, index * 4 + 4);
    const isQuoted = valueEnd > nameEnd && has(QUOTES, html.charCodeAt(valueEnd));
    return { name: nameAt(index), start, end: isQuoted ? valueEnd + 1 : valueEnd, value: valueAt(index) };
  };

  const attribute = (wanted: string): string | undefined => {
    if (count === 0) return undefined;
    const index = hashes.indexOf(hashOf(wanted));
    return index >= 0 && index < count && nameAt(index) === wanted ? valueAt(index) : undefined;
  };

  const tag: StartTag = {
    get name() {
      return name;
    },
    get offset() {
      return offset;
    },
    get isSelfClosing() {
      return isSelfClosing;
    },
    get hasAttributes() {
      return count > 0;
    },
    get attributes() {
      return Array.from({ length: count }, (_, index) => attributeAt(index));
    },
    attribute,
  };

  return {
    tag,
    name: (): string => name,
    /** @param at offset of its `<`. */
    readStart: (at: number): number => {
      count = 0;
      offset = at;
      const end = readName(at + 1);
      return end < 0 ? -1 : readAttributes(end);
    },
    /** @param at offset of its `<`. */
    readEnd: (at: number): number => {
      const end = readName(at + 2);
      const next = end < 0 ? -1 : skip(BETWEEN_ATTRIBUTES, end);
      return html.charCodeAt(next) === GREATER ? next + 1 : -1;
    },
  };
};

/** End of each text element: `</style` and a character that may follow a name. */
const TEXT_ENDS: ReadonlyMap<string, RegExp> = new Map(
  [...TEXT_MODES.keys()].map((name) => [name, new RegExp(`</${name}[\\t\\n\\f\\r />]`, 'gi')] as const),
);
const DECODED_TEXTS: ReadonlySet<string> = new Set(['title', 'textarea']);
const EXCLAMATION = 0x21;
const QUESTION = 0x3f;
const BLANK = /^[\t\n\f\r ]*$/;
const DOCTYPE = /<!doctype[\t\n\f\r >]/iy;

const decodeText = (text: string): string => (text.includes('&') ? decodeHTML(text) : text);

/** @param html well-formed, without NUL. */
export type ReadPlainTokens = (html: string, from: number, handler: TokenHandler) => PlainPart;

interface PlainPart {
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
