import { decodeHTMLAttribute } from 'entities';
import type { Attribute, StartTag } from './tokens.ts';

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
/** Characters between attributes. §13.2.5.40: a slash that does not end a tag counts as a space. */
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

export const isLetter = (code: number): boolean => LETTERS[code] === 1;

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
export const createTagReader = (html: string) => {
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
