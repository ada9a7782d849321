/** A set of ASCII characters, by code. */
const ascii = (characters: string): Uint8Array => {
  const set = new Uint8Array(128);
  for (const character of characters) set[character.charCodeAt(0)] = 1;
  return set;
};

const SPACE = '\t\n\f\r ';
const SPACES = ascii(SPACE);
/** Spaces, and slashes that do not end a tag, between attributes (§13.2.5.40). */
const BETWEEN_ATTRIBUTES = ascii(`${SPACE}/`);
const NAMES = ascii('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:.@*#$[]()');
const LETTERS = ascii('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');
/** What ends an unquoted value, or does not belong there. */
const NOT_IN_VALUES = ascii(`${SPACE}>"'<=\``);

const SLASH = 0x2f;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const QUOTES = ascii('"\'');

const has = (set: Uint8Array, code: number): boolean => set[code] === 1;

export const isLetter = (code: number): boolean => has(LETTERS, code);

/** Every pair is compared: more than that is for the standard's tokenizer, which keeps a set then. */
const ATTRIBUTES_MAX = 24;
/** Makes a small letter of a capital one. */
const LOWER = 0x20;

const UPPER = /[A-Z]/;
const lower = (name: string): string => (UPPER.test(name) ? name.toLowerCase() : name);

/**
 * Reads tags that are in order: plain names, no attribute twice, values that end. Positions come and go as offsets;
 * -1 means that the standard's tokenizer has to look at it. What was read last is asked afterwards.
 */
export const createTagReader = (html: string) => {
  /** A number for each attribute of the tag: the same for the same name, and for few others. */
  const attributes: number[] = [];
  let name = '';
  let isSelfClosing = false;

  const skip = (set: Uint8Array, from: number): number => {
    let at = from;
    while (has(set, html.charCodeAt(at))) at += 1;
    return at;
  };

  const readName = (from: number): number => {
    const end = skip(NAMES, from);
    if (!isLetter(html.charCodeAt(from))) return -1;
    name = lower(html.slice(from, end));
    return end;
  };

  const readUnquoted = (from: number): number => {
    let at = from;
    while (at < html.length && !has(NOT_IN_VALUES, html.charCodeAt(at))) at += 1;
    const end = html.charCodeAt(at);
    return at > from && (end === GREATER || has(SPACES, end)) ? at : -1;
  };

  const readValue = (from: number): number => {
    const at = skip(SPACES, from);
    if (!has(QUOTES, html.charCodeAt(at))) return readUnquoted(at);
    const end = html.indexOf(html.charAt(at), at + 1);
    return end < 0 ? -1 : end + 1;
  };

  const readAttribute = (from: number): number => {
    let end = from;
    let attribute = 0;
    for (let code = html.charCodeAt(end); has(NAMES, code); code = html.charCodeAt(end)) {
      attribute = (Math.imul(attribute, 31) + (code | LOWER)) | 0;
      end += 1;
    }
    if (end === from || attributes.length === ATTRIBUTES_MAX || attributes.includes(attribute)) return -1;
    attributes.push(attribute);
    const next = skip(SPACES, end);
    return html.charCodeAt(next) === EQUALS ? readValue(next + 1) : next;
  };

  const readAttributes = (from: number): number => {
    let at = skip(BETWEEN_ATTRIBUTES, from);
    // A slash in an unquoted value belongs to the value, so only one that was skipped here counts.
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

  return {
    /** From behind the `<`. */
    readStart: (from: number): number => {
      attributes.length = 0;
      const end = readName(from);
      return end < 0 ? -1 : readAttributes(end);
    },
    /** From behind the `</`. */
    readEnd: (from: number): number => {
      const end = readName(from);
      const at = end < 0 ? -1 : skip(BETWEEN_ATTRIBUTES, end);
      return html.charCodeAt(at) === GREATER ? at + 1 : -1;
    },
    name: (): string => name,
    isSelfClosing: (): boolean => isSelfClosing,
  };
};
