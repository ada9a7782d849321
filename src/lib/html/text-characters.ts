const SPACE = 0x20;
/** U+200C, which keeps letters apart, differs only in the last bit. */
const ZERO_WIDTH_JOINER = 0x200d;
/** The smallest of `ONLY_MARKS`. */
const FIRST_MARK = 0x61c;

/** Collapsed like spaces, including no-break spaces, which mail uses as padding. */
const SPACES = /[\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/g;
/** Invisible, or shown as garbage: controls, soft hyphens, joiners that pad previews. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const REMOVED = /\u034f|[\0-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u180e\u200b\u2060-\u2064\ufeff]/g;
/** Few chunks have any other character: one test is faster than two replacements. */
const UNUSUAL = /[^\t\n\f\r -~]/;
/** Meaningful inside words (Persian, emoji, text direction), but not on their own. */
const ONLY_MARKS = /^(?:\u200d|[\u061c\u200c\u200e\u200f\u202a-\u202e\u2066-\u2069])+$/;

/** The visible characters of a text, with every kind of space as an ASCII space. */
export const visible = (chunk: string): string =>
  UNUSUAL.test(chunk) ? chunk.replace(SPACES, ' ').replace(REMOVED, '') : chunk;

export const endOfWord = (text: string, start: number): number => {
  let end = start;
  while (end < text.length && text.charCodeAt(end) > SPACE) end += 1;
  return end;
};

/** A joiner at the end of a word joins nothing. */
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
