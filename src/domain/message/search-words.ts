import { createMemo } from '../../lib/async/async.ts';
import type { Mailbox } from '../../lib/mime/mime.ts';
import { keyedBytes, keyedText } from '../kernel/digest.ts';

/**
 * Words by which a message can be searched for as long as its contents are stored: those of its subject, of its
 * addresses and names, and of its tags. The vault keeps a keyed digest of each with the contents, so an erasure or
 * the retention removes both together.
 */

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
/** Apart from the words of subjects, which names that come once would push out. */
const repeatedBeginnings = createMemo<string>(CACHED_MAX);
/** Longer runs are not words of a language, so they are not cached. */
const CACHED_CHARACTERS_MAX = 30;
/** Order numbers occur only once, so they are not cached. */
const COMES_ONCE = /\d/;

const digestOf = (secret: Uint8Array, purpose: string, word: string): string =>
  keyedBytes(secret, purpose, word).readBigInt64BE().toString();

/** A digest that many messages share. A repeat costs a tenth. */
const repeatedDigestOf = (secret: Uint8Array, purpose: string, word: string, memo = repeated): string =>
  COMES_ONCE.test(word) || word.length > CACHED_CHARACTERS_MAX
    ? digestOf(secret, purpose, word)
    : memo(keyedText(secret, `${purpose}\0${word}`), () => digestOf(secret, purpose, word));

const SUBJECT = 'subject word';

/**
 * Keyed digests of the words, as signed 64-bit integers: they reveal nothing without the organization's secret. About 1
 * µs a word, and a tenth of that for a repeated word.
 */
export const subjectWordDigests = (secret: Uint8Array, subject: string): readonly string[] =>
  subjectWords(subject).map((word) => repeatedDigestOf(secret, SUBJECT, word));

/** Words of addresses and display names, which are found by their beginnings. */

type AddressField = 'to' | 'from';

const purposeOf = (field: AddressField): string => `${field} word`;

/** Lower: a beginning matches half of all messages. Higher: people must type more. Shorter words match as a whole. */
const BEGINNING_MIN = 3;
/** Higher: each send costs more index entries. Lower: a search cannot distinguish long words that begin alike. */
const BEGINNING_MAX = 8;
/** Words of one mailbox. Higher: a long name or domain costs more index entries. Lower: its last words are not found. */
const MAILBOX_WORDS_MAX = 12;
/**
 * Digests of all recipients of a message: 50 ordinary ones have fewer. Higher: long names cost a send milliseconds.
 * Lower: the last recipients of a message to many are found by their exact address only.
 */
const ADDRESS_DIGESTS_MAX = 600;

/** Distinct words, folded: `ann.smith@example.com` has four. */
export const addressWords = (text: string): readonly string[] => {
  const words = PRINTABLE_ASCII.test(text)
    ? text.toLowerCase().split(BETWEEN_ASCII)
    : [...folded(text).matchAll(RUN)].map(([word]) => word);
  return [...new Set(words)].filter((word) => word !== '');
};

/** `smi`, `smit` and `smith`, or the whole word if it is shorter. */
function* beginningsOf(word: string): Generator<string> {
  let beginning = '';
  let characters = 0;
  for (const character of word) {
    if (characters === BEGINNING_MAX) return;
    beginning += character;
    characters += 1;
    if (characters >= BEGINNING_MIN) yield beginning;
  }
  if (characters < BEGINNING_MIN) yield beginning;
}

/** Digests by which a message is found by parts of its addresses and by names. */
export const addressDigests = (
  secret: Uint8Array,
  field: AddressField,
  mailboxes: readonly Mailbox[],
): readonly string[] => {
  const beginnings = new Set<string>();
  for (const { address, name = '' } of mailboxes) {
    for (const word of addressWords(`${address} ${name}`).slice(0, MAILBOX_WORDS_MAX)) {
      for (const beginning of beginningsOf(word)) beginnings.add(beginning);
    }
    if (beginnings.size >= ADDRESS_DIGESTS_MAX) break;
  }
  const purpose = purposeOf(field);
  return [...beginnings]
    .slice(0, ADDRESS_DIGESTS_MAX)
    .map((beginning) => repeatedDigestOf(secret, purpose, beginning, repeatedBeginnings));
};

/** Senders whose digests are cached, at about 1 kB each. */
const SENDERS_MAX = 1_000;
const repeatedSenders = createMemo<readonly string[]>(SENDERS_MAX);

/** `addressDigests` of a sender, cached: the messages of an organization share a few. */
export const senderDigests = (secret: Uint8Array, from: Mailbox): readonly string[] =>
  repeatedSenders(keyedText(secret, `${from.address} ${from.name ?? ''}`), () =>
    addressDigests(secret, 'from', [from]),
  );

/** Digests that a message must all have if its addresses or names contain words that begin with the words of a text. */
export const addressTextDigests = (secret: Uint8Array, field: AddressField, text: string): readonly string[] =>
  addressWords(text).map((word) => digestOf(secret, purposeOf(field), [...word].slice(0, BEGINNING_MAX).join('')));

/** Tags by their name or their value alone. */

const TAG = 'tag word';

export const tagWordDigest = (secret: Uint8Array, word: string): string => digestOf(secret, TAG, folded(word));

export const tagDigests = (
  secret: Uint8Array,
  tags: readonly { readonly name: string; readonly value: string }[],
): readonly string[] =>
  [...new Set(tags.flatMap(({ name, value }) => [folded(name), folded(value)]))]
    .filter((word) => word !== '')
    .map((word) => repeatedDigestOf(secret, TAG, word));
