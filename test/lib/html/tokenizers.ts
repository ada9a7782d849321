import { type ReadPlainTokens, readPlainTokens } from '../../../src/lib/html/plain-tokens.ts';
import { checkHtml } from '../../../src/lib/html/read-html.ts';

/** Leaves all input to the standard tokenizer. */
export const noPlainTokens: ReadPlainTokens = (_html, from) => ({ end: from, hasContent: false });

/** True if the standard tokenizer is not needed. */
export const readsAllPlainly = (html: string): boolean => {
  let end = -1;
  checkHtml(html, (...given) => {
    const part = readPlainTokens(...given);
    end = part.end;
    return part;
  });
  return end === html.length;
};
