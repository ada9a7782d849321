/**
 * RFC 2047 encoded words in UTF-8. Whatever needs any encoding is encoded whole: spaces between two encoded words
 * vanish when they are decoded, so no space of the text may stand between them.
 */

const PREFIX = '=?UTF-8?';
/** RFC 2047 §2: an encoded word holds at most 75 characters, a line with one at most 76. */
const WORD_CHARACTERS_MAX = 75;
const OVERHEAD = `${PREFIX}B??=`.length;
/** RFC 2047 §5 (3): safe in a phrase too, the narrowest of its contexts. */
const LITERAL_IN_Q = /^[A-Za-z0-9!*+/-]$/;

/** Readers are lenient: anything that begins like an encoded word may be decoded, even within quotes. */
export const looksEncoded = (text: string): boolean => /=\?[^?]*\?/.test(text);

const hex = (byte: number): string => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;

const inQ = (character: string): string => {
  if (LITERAL_IN_Q.test(character)) return character;
  return character === ' ' ? '_' : Array.from(Buffer.from(character), hex).join('');
};

const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;

interface Encoding {
  readonly letter: 'B' | 'Q';
  /** What one character adds to `room`, and the room that so much takes in the word. */
  readonly cost: (character: string) => number;
  readonly length: (cost: number) => number;
  readonly encode: (text: string) => string;
}

const B: Encoding = {
  letter: 'B',
  cost: (character) => Buffer.byteLength(character),
  length: base64Length,
  encode: (text) => Buffer.from(text).toString('base64'),
};

const Q: Encoding = {
  letter: 'Q',
  cost: (character) => inQ(character).length,
  length: (cost) => cost,
  encode: (text) => Array.from(text, inQ).join(''),
};

const shorter = (text: string): Encoding => {
  let lengthInQ = 0;
  for (const character of text) lengthInQ += Q.cost(character);
  return lengthInQ <= base64Length(Buffer.byteLength(text)) ? Q : B;
};

/**
 * The text as encoded words, one a line, joined by CRLF SP; no character is split between two words.
 * @param column characters that stand on the line before the first word.
 */
export const encodedWords = (text: string, column: number): string => {
  const { letter, cost, length, encode } = shorter(text);
  const words: string[] = [];
  let run = '';
  let runCost = 0;
  let room = Math.max(WORD_CHARACTERS_MAX - column, OVERHEAD + 12) - OVERHEAD;
  const flush = (): void => {
    words.push(`${PREFIX}${letter}?${encode(run)}?=`);
    run = '';
    runCost = 0;
    room = WORD_CHARACTERS_MAX - OVERHEAD;
  };
  for (const character of text) {
    const added = cost(character);
    if (run !== '' && length(runCost + added) > room) flush();
    run += character;
    runCost += added;
  }
  flush();
  return words.join('\r\n ');
};
