import { type Check, type Discovery, discovery } from '../discovery.ts';
import type { HtmlFacts } from '../facts.ts';
import { seenCharacters } from '../text/seen-characters.ts';

/** Compared are the beginnings, some three thousand words: more costs time and says the same. */
const COMPARED_CHARACTERS_MAX = 20_000;
/** With fewer, a few words more or less are not another message. */
const WORDS_MIN = 20;
/** Of the words of the shorter, those the longer has too. A faithful text has nearly all. */
const SHARED_MIN = 0.4;
/** What share of the html's words the text needs to have: "see the web version" is not the same message. */
const WORDS_SHARE_MIN = 0.15;

/** Where words stand without spaces, each character is one. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}]{3,40}/gu;

const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(text.slice(0, COMPARED_CHARACTERS_MAX).toLowerCase().match(WORD) ?? []);

const isFar = (text: string, { visibleText }: HtmlFacts): boolean => {
  const shown = wordsOf(visibleText);
  if (shown.size < WORDS_MIN) return false;
  const said = wordsOf(text);
  const shared = shown.intersection(said).size;
  return said.size < shown.size * WORDS_SHARE_MIN || shared < Math.min(said.size, shown.size) * SHARED_MIN;
};

function* emptiness(html: HtmlFacts | null, text: string | undefined): Generator<Discovery> {
  const showsNothing = html !== null && html.visibleCharacters === 0 && html.images.length === 0;
  if (showsNothing) yield discovery('body-empty', 'html', 'the html shows nothing');
  const isBlank = text !== undefined && seenCharacters(text) === 0;
  if (isBlank) yield discovery('body-empty', 'text', 'the text has no character that can be seen');
}

/** The plain text beside the html. */
export const textPart: Check = function* ({ html, text }) {
  yield* emptiness(html, text);
  if (html === null) return;
  if (text === undefined) {
    yield discovery('text-missing', 'text', 'there is no plain text: one will be derived from the html');
  } else if (isFar(text, html)) {
    yield discovery('text-differs', 'text', 'the plain text does not say what the html says');
  }
};
