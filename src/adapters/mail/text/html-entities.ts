import { Tokenizer } from 'htmlparser2';

const NOTHING = (): void => {};

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
    const tokenizer = new Tokenizer(
      {},
      {
        ...{ ontext: add, ontextentity: addCodePoint, onattribdata: add, onattribentity: addCodePoint },
        ...{ onopentagname: NOTHING, onopentagend: NOTHING, onselfclosingtag: NOTHING, onclosetag: NOTHING },
        ...{ onattribname: NOTHING, onattribend: NOTHING, oncdata: NOTHING, oncomment: NOTHING },
        ...{ ondeclaration: NOTHING, onprocessinginstruction: NOTHING, onend: NOTHING },
      },
    );
    tokenizer.write(given);
    tokenizer.end();
    return decoded;
  };

  return {
    inText: (text) => (text.includes('&') ? decode(text.replaceAll('<', '&lt;')) : text),
    inAttribute: (value) => (value.includes('&') ? decode(`<a b="${value.replaceAll('"', '&quot;')}">`) : value),
  };
};
