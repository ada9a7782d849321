import { keyedBytes, keyedText } from '../kernel/digest.ts';
import { createMemo } from '../kernel/memo.ts';

/** Words of a subject, by which a message can be searched for as long as its contents are stored. */

/** Higher: each send costs more index entries. Lower: later words of long subjects cannot be searched. */
export const SUBJECT_WORDS_MAX = 24;

const RUN = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
/** Scripts written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Segments words by UAX #29 and ICU's dictionaries. */
const segmenter = new Intl.Segmenter('und', { granularity: 'word' });

/** Removes differences of letter case, such as `Straße` and `STRASSE`, and of width. */
const folded = (text: string): string => text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');

/** A single letter is in every other subject, but a single Chinese character is a word. */
const isTelling = (word: string): boolean => /../su.test(word) || UNSPACED.test(word);

const segmented = (run: string): readonly string[] =>
  [...segmenter.segment(run)].flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));

const PRINTABLE_ASCII = /^[ -~]*$/;
const BETWEEN_ASCII = /[^a-z0-9]+/;

/** The same words without Unicode tables, in a third of the time. */
const asciiWords = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(BETWEEN_ASCII)
    .filter((run) => run.length > 1);

function* wordsIn(text: string): Generator<string> {
  for (const [run] of folded(text).matchAll(RUN)) {
    if (UNSPACED.test(run)) yield* segmented(run);
    else yield run;
  }
}

/** The first distinct words, folded (NFKC, letter case): at least two letters or digits. */
export const subjectWords = (subject: string): readonly string[] => {
  if (PRINTABLE_ASCII.test(subject)) return [...new Set(asciiWords(subject))].slice(0, SUBJECT_WORDS_MAX);
  const words = new Set<string>();
  for (const word of wordsIn(subject)) {
    if (isTelling(word)) words.add(word);
    if (words.size === SUBJECT_WORDS_MAX) break;
  }
  return [...words];
};

/** Number of cached digests, at about 100 bytes each. Most subjects of an organization share most of their words. */
const CACHED_MAX = 5_000;
const repeated = createMemo<string>(CACHED_MAX);
/** Longer runs are not words of a language, so they are not cached. */
const CACHED_CHARACTERS_MAX = 30;
/** Order numbers occur only once, so they are not cached. */
const COMES_ONCE = /\d/;

const digestOf = (secret: Uint8Array, word: string): string =>
  keyedBytes(secret, 'subject word', word).readBigInt64BE().toString();

/**
 * Keyed digests of the words, as signed 64-bit integers: they reveal nothing without the organization's secret. About 1
 * µs a word, and a tenth of that for a repeated word.
 */
export const subjectWordDigests = (secret: Uint8Array, subject: string): readonly string[] =>
  subjectWords(subject).map((word) =>
    COMES_ONCE.test(word) || word.length > CACHED_CHARACTERS_MAX
      ? digestOf(secret, word)
      : repeated(keyedText(secret, word), () => digestOf(secret, word)),
  );
