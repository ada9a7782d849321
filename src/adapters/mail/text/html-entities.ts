import { tokenize } from './tokenize.ts';

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
