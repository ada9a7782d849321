import { isUtf8 } from 'node:buffer';

const QUOTED_PRINTABLE = /=(?:\r?\n|([0-9A-Fa-f]{2}))/g;
/** RFC 2047 §2. */
const ENCODED_WORD = /=\?([\w-]{1,40})\?([BQ])\?([^?\s]{0,200})\?=(?:\s+(?==\?))?/gi;

/** Octets as characters (ISO 8859-1), as everything is until its character set is known. */
const quotedPrintable = (octets: string): Buffer => {
  const decoded = octets.replace(QUOTED_PRINTABLE, (_, hex?: string) =>
    hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1');
};

const ASCII = /^(?:us-)?ascii$/i;

/** An unknown character set is read as UTF-8: what counts in a report is ASCII. What is called that often is UTF-8. */
const inCharset = (bytes: Buffer, charset: string): string => {
  if (ASCII.test(charset) && isUtf8(bytes)) return bytes.toString('utf8');
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
};

/** A part's text, with LF alone. @param encoding of its `Content-Transfer-Encoding` (RFC 2045 §6). */
export const decodeBody = (octets: string, encoding: string, charset: string): string => {
  const bytes = /^quoted-printable/i.test(encoding)
    ? quotedPrintable(octets)
    : Buffer.from(octets, /^base64/i.test(encoding) ? 'base64' : 'latin1');
  return inCharset(bytes, charset).replace(/\r\n?/g, '\n');
};

/** A header's value as people read it. */
export const decodeWords = (value: string): string =>
  value.replace(ENCODED_WORD, (_, charset: string, kind: string, word: string) =>
    kind.toUpperCase() === 'B'
      ? decodeBody(word, 'base64', charset)
      : decodeBody(word.replaceAll('_', ' '), 'quoted-printable', charset),
  );
