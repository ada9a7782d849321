import { Tokenizer } from 'htmlparser2';
import { type Attributes, createTextBuilder } from './text-builder.ts';
import { textElement } from './text-elements.ts';

/** The plain text that is derived from HTML: one pass of the tokenizer drives a builder of lines. */

/** What most ampersands begin; these mean the same wherever they stand. */
const COMMON: ReadonlyMap<string, string> = new Map([
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
  ['&#39;', "'"],
  ['&nbsp;', '\u00a0'],
]);
const COMMON_CHARACTERS_MAX = 6;

/** Undefined where there is any other ampersand. */
const decodeCommon = (source: string): string | undefined => {
  let decoded = '';
  let from = 0;
  for (let at = source.indexOf('&'); at >= 0; at = source.indexOf('&', from)) {
    const length = source.slice(at, at + COMMON_CHARACTERS_MAX).indexOf(';') + 1;
    const character = COMMON.get(source.slice(at, at + length));
    if (character === undefined) return undefined;
    decoded += source.slice(from, at) + character;
    from = at + length;
  }
  return decoded + source.slice(from);
};

/** With the rules of attribute values, or of text, which differ in what they make of `&copy=1`. */
export interface HtmlEntities {
  inText(source: string): string;
  inAttribute(source: string): string;
}

/**
 * Character references, for the few pieces that hold an ampersand. A tokenizer that reads them anywhere looks at each
 * character, most of which are styles that no text shows: told not to, it leaps from mark to mark in half of the time.
 */
export const createHtmlEntities = (): HtmlEntities => {
  let source = '';
  let decoded = '';
  const add = (start: number, end: number): void => {
    decoded += source.slice(start, end);
  };
  const addCodePoint = (codePoint: number): void => {
    decoded += String.fromCodePoint(codePoint);
  };

  const decode = (given: string): string => {
    source = given;
    decoded = '';
    const callbacks = { ontext: add, ontextentity: addCodePoint, onattribdata: add, onattribentity: addCodePoint };
    tokenize(given, true, callbacks);
    return decoded;
  };

  return {
    inText: (text) => decodeCommon(text) ?? decode(text.replaceAll('<', '&lt;')),
    inAttribute: (value) => decodeCommon(value) ?? decode(`<a b="${value.replaceAll('"', '&quot;')}">`),
  };
};

type Callbacks = ConstructorParameters<typeof Tokenizer>[1];

const nothing = (): void => {};

const UNUSED: Callbacks = {
  ...{ ontext: nothing, ontextentity: nothing, oncdata: nothing, oncomment: nothing, onend: nothing },
  ...{ onopentagname: nothing, onopentagend: nothing, onselfclosingtag: nothing, onclosetag: nothing },
  ...{ onattribname: nothing, onattribdata: nothing, onattribentity: nothing, onattribend: nothing },
  ...{ ondeclaration: nothing, onprocessinginstruction: nothing },
};

/** Tells the tokens of all of the html, as offsets into it, to those who want to know. */
export const tokenize = (html: string, decodeEntities: boolean, callbacks: Partial<Callbacks>): void => {
  const tokenizer = new Tokenizer({ decodeEntities }, { ...UNUSED, ...callbacks });
  tokenizer.write(html);
  tokenizer.end();
};

const SPACE = 0x20;
/** U+200C, which keeps letters apart, differs in the last bit alone. */
const ZERO_WIDTH_JOINER = 0x200d;
/** The least of `ONLY_MARKS`. */
const FIRST_MARK = 0x61c;

/** Read as spaces; no-break ones too, which mails use as padding. */
const SPACES = /[\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/g;
/** Never seen, or seen as rubbish: controls, soft hyphens, joiners that mails pad their previews with. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const REMOVED = /\u034f|[\0-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u180e\u200b\u2060-\u2064\ufeff]/g;
/** Few chunks have one of the others: this costs less than to look for each. */
const UNUSUAL = /[^\t\n\f\r -~]/;
/** They mean something inside of words (Persian, emoji, the direction of text), and nothing on their own. */
const ONLY_MARKS = /^(?:\u200d|[\u061c\u200c\u200e\u200f\u202a-\u202e\u2066-\u2069])+$/;

/** The characters of html text that are seen, and all its kinds of spaces as one that `endOfSpaces` knows. */
export const visible = (chunk: string): string =>
  UNUSUAL.test(chunk) ? chunk.replace(SPACES, ' ').replace(REMOVED, '') : chunk;

export const endOfWord = (text: string, start: number): number => {
  let end = start;
  while (end < text.length && text.charCodeAt(end) > SPACE) end += 1;
  return end;
};

/** At the end of a word there is nothing that they join. */
export const endWithoutJoiners = (word: string): number => {
  let end = word.length;
  while (end > 0 && (word.charCodeAt(end - 1) | 1) === ZERO_WIDTH_JOINER) end -= 1;
  return end;
};

export const endOfSpaces = (text: string, start: number): number => {
  let end = start;
  while (end < text.length && text.charCodeAt(end) <= SPACE) end += 1;
  return end;
};

export const isOnlyMarks = (piece: string): boolean => piece.charCodeAt(0) >= FIRST_MARK && ONLY_MARKS.test(piece);

const ATTRIBUTES = new Map<string, keyof Attributes>([
  ['alt', 'alt'],
  ['hidden', 'hidden'],
  ['href', 'href'],
  ['start', 'start'],
  ['style', 'style'],
  ['value', 'value'],
]);
const ATTRIBUTE_NAME_CHARACTERS_MAX = 6;

const NO_ATTRIBUTES: Attributes = {
  alt: undefined,
  hidden: undefined,
  href: undefined,
  start: undefined,
  style: undefined,
  value: undefined,
};

const knownAttribute = (name: string): keyof Attributes | undefined =>
  ATTRIBUTES.get(name) ?? ATTRIBUTES.get(name.toLowerCase());

/**
 * The text alternative of a body that came as html alone: links in brackets, images as their alternatives, lines of 78
 * characters where words allow it. One pass without a tree: linear in the size, whatever it holds. (The `Parser` of the
 * library is not: the time that it takes for nested elements grows with the square of their depth.)
 */
export const htmlToText = (html: string): string => {
  const builder = createTextBuilder();
  const entities = createHtmlEntities();
  let element = textElement('');
  let attributes: { -readonly [name in keyof Attributes]: string | undefined } | undefined;
  let attribute: keyof Attributes | undefined;
  let value = '';

  const keepAttribute = (name: keyof Attributes): void => {
    attributes ??= { ...NO_ATTRIBUTES };
    attributes[name] ??= entities.inAttribute(value);
  };

  tokenize(html, false, {
    ontext: (start, end) => builder.text(entities.inText(html.slice(start, end))),
    onopentagname: (start, end) => {
      element = textElement(html.slice(start, end));
      attributes = undefined;
    },
    onopentagend: () => builder.start(element, attributes ?? NO_ATTRIBUTES, false),
    onselfclosingtag: () => builder.start(element, attributes ?? NO_ATTRIBUTES, true),
    onclosetag: (start, end) => builder.end(textElement(html.slice(start, end))),
    onattribname: (start, end) => {
      const isShort = end - start <= ATTRIBUTE_NAME_CHARACTERS_MAX;
      attribute = isShort ? knownAttribute(html.slice(start, end)) : undefined;
      value = '';
    },
    onattribdata: (start, end) => {
      if (attribute !== undefined) value += html.slice(start, end);
    },
    onattribend: () => {
      if (attribute !== undefined) keepAttribute(attribute);
    },
  });
  return builder.finish();
};
