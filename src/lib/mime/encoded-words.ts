import { decodeWords as decodeEachWord } from 'postal-mime';

/** Words in base64 with one charset, below each other. Some programs divide a character between two. */
const B_WORDS = /(=\?[\w*-]{1,60}\?b\?)[A-Za-z0-9+/]*={0,2}\?=(?:[ \t\r\n]+\1[A-Za-z0-9+/]*={0,2}\?=)+/gi;

const joined = (words: string, start: string): string => {
  const pieces = words.split(/\?=[ \t\r\n]*/).map((word) => Buffer.from(word.slice(start.length), 'base64'));
  return `${start}${Buffer.concat(pieces).toString('base64')}?=`;
};

/** Decodes the encoded words in a header value (RFC 2047). Words that cannot be decoded stay as they are. */
export const decodeWords = (value: string): string => {
  if (!value.includes('=?')) return value;
  const text = decodeEachWord(value.replace(B_WORDS, joined));
  // The words of some charsets, such as ISO-2022-JP, are complete in themselves.
  return text.includes('\ufffd') ? decodeEachWord(value) : text;
};
