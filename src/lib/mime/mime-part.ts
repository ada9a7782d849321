import { setImmediate as othersTurn } from 'node:timers/promises';
import {
  isAttachmentType,
  isMessageType,
  isSevenBit,
  type StoredAlternative,
  type StoredAttachment,
} from './email-address.ts';
import { encodedWords, looksEncoded } from './write-headers.ts';

export interface MimeMessage {
  readonly sizeBytes: number;
  /** The message, some 64 kB at a time. Can be read more than once. */
  readonly chunks: () => Iterable<Buffer>;
  /** It has bytes outside ASCII. Absent: only if its envelope has. */
  readonly isEightBit?: boolean;
}

/** A message before it is signed. */
export interface UnsignedMessage {
  /** Its header fields as written, each with its CRLF, without the empty line after them. */
  readonly head: string;
  /** The content after that line, in whole lines, some 64 kB at a time. Can be read more than once. */
  readonly body: () => Iterable<Buffer>;
  /** Builds the message with further header fields before its own. */
  readonly headed: (fields: string) => MimeMessage;
}

/** Base64 that is broken into lines on sending (RFC 2045 §6.8). Attachments stay unbroken until then. */
interface Base64Text {
  readonly base64: string;
}

const LINE_CHARACTERS = 76;
/** Lines made at a time, some 64 kB. The largest attachment is never in memory twice, and does not block for long. */
const LINES_PER_CHUNK = 840;

const ALPHABET = /^[A-Za-z0-9+/]*$/;
const CANONICAL = /^[A-Za-z0-9+/]*={0,2}$/;
/** Characters checked in one turn of the event loop: 1 ms. */
const TURN_CHARACTERS_MAX = 1_000_000;

/** Clients may send attachments with line breaks or in the URL alphabet. */
export const canonicalBase64 = (text: string): string =>
  text.length % 4 === 0 && CANONICAL.test(text) ? text : Buffer.from(text, 'base64').toString('base64');

/**
 * The same with pauses for other work if the text is long. Text that is not canonical is still re-encoded in one turn.
 */
export const canonicalBase64InTurns = async (text: string): Promise<string> => {
  const padded = text.length - 4;
  for (let start = 0; start < padded; start += TURN_CHARACTERS_MAX) {
    if (start > 0) await othersTurn();
    if (!ALPHABET.test(text.slice(start, Math.min(start + TURN_CHARACTERS_MAX, padded)))) return canonicalBase64(text);
  }
  const isCanonical = text.length % 4 === 0 && CANONICAL.test(text.slice(Math.max(0, padded)));
  return isCanonical ? text : canonicalBase64(text);
};

/** Bytes of `base64Lines`. */
export const base64LinesLength = (base64: string): number =>
  base64.length + Math.ceil(base64.length / LINE_CHARACTERS) * 2;

/** Lines of 76 characters with their CRLF, several at a time. */
export function* base64Lines(base64: string): Generator<string> {
  const step = LINE_CHARACTERS * LINES_PER_CHUNK;
  for (let start = 0; start < base64.length; start += step) {
    const end = Math.min(start + step, base64.length);
    let lines = '';
    for (let at = start; at < end; at += LINE_CHARACTERS) {
      lines += `${base64.slice(at, Math.min(at + LINE_CHARACTERS, end))}\r\n`;
    }
    yield lines;
  }
}

/** RFC 2045 §6.7 (5). */
const ENCODED_LINE_CHARACTERS_MAX = 76;
/** Bytes that are not literal. Spaces are, except at the end of a line, where servers strip them. */
const ESCAPED = /[^\t -<>-~]|[\t ]$/g;

const escapeOf = (byte: string): string => `=${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

/** Breaks a line before it would grow too long, but not within an escape. */
const softBroken = (line: string): string => {
  let broken = '';
  let start = 0;
  while (line.length - start >= ENCODED_LINE_CHARACTERS_MAX) {
    const end = start + ENCODED_LINE_CHARACTERS_MAX - 1;
    const escapeAt = line.slice(end - 2, end).indexOf('=');
    const cut = escapeAt === -1 ? end : end - 2 + escapeAt;
    broken += `${line.slice(start, cut)}=\r\n`;
    start = cut;
  }
  return broken + line.slice(start);
};

/** Text with CRLF line ends as quoted-printable UTF-8. Spaces at line ends are escaped, and every other control too. */
const quotedPrintable = (text: string): string =>
  Buffer.from(text)
    .toString('latin1')
    .split('\r\n')
    .map((line) => softBroken(line.replace(ESCAPED, escapeOf)))
    .join('\r\n');

const TOKEN = /^[\w!#$&+^`{|}~.-]+$/;
const PRINTABLE = /^[ -~]*$/;
const ATTRIBUTE_CHARACTER = /^[A-Za-z0-9!#$&+.^_`{|}~-]$/;
/** Each parameter has its own line; a longer value is continued (RFC 2231 §3). */
const VALUE_CHARACTERS_MAX = 60;

const percentEncoded = (character: string): string =>
  ATTRIBUTE_CHARACTER.test(character)
    ? character
    : Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

const extended = (name: string, value: string): string => {
  const sections: string[] = [];
  let section = "utf-8''";
  for (const character of value) {
    const encoded = percentEncoded(character);
    if (section.length + encoded.length > VALUE_CHARACTERS_MAX) {
      sections.push(section);
      section = '';
    }
    section += encoded;
  }
  sections.push(section);
  if (sections.length === 1) return `;\r\n ${name}*=${section}`;
  return sections.map((text, index) => `;\r\n ${name}*${index}*=${text}`).join('');
};

const withoutControls = (value: string): string => value.replace(/\p{Cc}/gu, ' ');

/** Some readers decode such a value again after RFC 2231, so no encoding would protect it. */
const undecodable = (value: string): string => (looksEncoded(value) ? value.replaceAll('=?', '=_') : value);

const isPlain = (value: string): boolean => PRINTABLE.test(value) && value.length <= VALUE_CHARACTERS_MAX;

/** A parameter of a MIME header (RFC 2045 §5.1, RFC 2231), with the `;` before it, on a line of its own. */
const mimeParameter = (name: string, value: string): string => {
  const safe = undecodable(withoutControls(value));
  if (!isPlain(safe)) return extended(name, safe);
  return `;\r\n ${name}=${TOKEN.test(safe) ? safe : `"${safe.replace(/[\\"]/g, '\\$&')}"`}`;
};

/**
 * File name as a parameter of the type, for readers without RFC 2231. Those that look here at all decode RFC 2047,
 * although it is not meant for parameters. Others use the `filename` of the disposition, which they prefer.
 */
const nameParameter = (filename: string): string => {
  const safe = undecodable(withoutControls(filename));
  if (isPlain(safe)) return mimeParameter('name', filename);
  return `;\r\n name="${encodedWords(safe, ' name="'.length)}"`;
};

/** Pieces of a message, in order: text to be sent as it is, and base64 to be broken into lines. */
export type MimePiece = string | Base64Text;

export interface MimePart {
  /** `Content-*` lines with their CRLF. */
  readonly head: string;
  /** The content after the empty line, with a trailing CRLF. */
  readonly content: readonly MimePiece[];
}

/** RFC 5322 §2.1.1, without the CRLF. */
const LINE_CHARACTERS_MAX = 998;
/** Share above which quoted-printable is larger than base64: it turns one byte into three, base64 three into four. */
const NON_ASCII_SHARE_MAX = 0.17;

const UNSAFE_IN_7BIT = /[^\t\r\n -~]/;
/** RFC 5322 `id-left`/`id-right`, leniently: nothing that could end the brackets or the line. */
const CONTENT_ID = /^[!-;=?-~]{1,250}$/;

const withCrlf = (text: string): string => (/[\r\n]/.test(text) ? text.replace(/\r\n?|\n/g, '\r\n') : text);

const hasLongLine = (text: string): boolean => {
  let start = 0;
  while (text.length - start > LINE_CHARACTERS_MAX) {
    const end = text.indexOf('\r\n', start);
    if (end < 0 || end - start > LINE_CHARACTERS_MAX) return true;
    start = end + 2;
  }
  return false;
};

const isMostlyNonAscii = (text: string): boolean => {
  const excess = Buffer.byteLength(text) - text.length;
  // Two of three bytes, or one of two, are excess over UTF-16: near enough for a choice that is never wrong.
  return excess * 1.5 > text.length * NON_ASCII_SHARE_MAX;
};

/**
 * A body in UTF-8, in the plainest transfer encoding that carries it unharmed through any server.
 * @param boundary text that the content must not contain; no encoded content can (RFC 2045 §6.7 note on `=_`).
 */
export const textPart = (subtype: 'plain' | 'html', text: string, boundary: string): MimePart => {
  const content = withCrlf(text);
  const head = (encoding: string): string =>
    `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`;
  if (!UNSAFE_IN_7BIT.test(content) && !hasLongLine(content) && !content.includes(boundary)) {
    return { head: head('7bit'), content: [`${content}\r\n`] };
  }
  if (isMostlyNonAscii(content)) {
    return { head: head('base64'), content: [{ base64: Buffer.from(content).toString('base64') }] };
  }
  return { head: head('quoted-printable'), content: [`${quotedPrintable(content)}\r\n`] };
};

interface EncodedPart {
  /** `Content-Type` and `Content-Transfer-Encoding` as they are written, the first without a name. */
  readonly type: string;
  readonly encoding: '7bit' | 'base64';
  readonly content: readonly MimePiece[];
}

/** Requests with another type are rejected earlier; any other invalid type is sent as bytes. */
const encoded = (contentType: string, base64: string): EncodedPart => {
  if (isAttachmentType(contentType)) return { type: contentType, encoding: 'base64', content: [{ base64 }] };
  const text = isMessageType(contentType) ? Buffer.from(base64, 'base64').toString('latin1') : null;
  if (text === null || !isSevenBit(text)) {
    return { type: 'application/octet-stream', encoding: 'base64', content: [{ base64 }] };
  }
  return { type: contentType, encoding: '7bit', content: [`${text}\r\n`] };
};

/** @throws {Error} if the content id cannot be written. Requests with such an id are rejected earlier. */
const contentIdLine = (contentId: string): string => {
  const id = contentId.replace(/^<(.*)>$/, '$1');
  if (!CONTENT_ID.test(id)) throw new Error('an attachment has a content id that no header can hold');
  return `Content-ID: <${id}>\r\n`;
};

const dispositionLine = (disposition: 'attachment' | 'inline' | 'none', filename: string | undefined): string => {
  if (disposition === 'none') return '';
  const name = filename === undefined ? '' : mimeParameter('filename', filename);
  return `Content-Disposition: ${disposition}${name}\r\n`;
};

/**
 * @param inline shown within the html, which names it by its content id.
 * @param base64 its content, ready to be written.
 */
export const attachmentPart = (
  attachment: StoredAttachment | StoredAlternative,
  inline: boolean,
  base64: string,
): MimePart => {
  const { filename, contentType, contentId, disposition = inline ? 'inline' : 'attachment' } = attachment;
  const { type, encoding, content } = encoded(contentType, base64);
  const head =
    `Content-Type: ${type}${filename === undefined ? '' : nameParameter(filename)}\r\n` +
    `Content-Transfer-Encoding: ${encoding}\r\n` +
    dispositionLine(disposition, filename) +
    (contentId === undefined ? '' : contentIdLine(contentId));
  return { head, content };
};

interface Multipart {
  readonly subtype: 'mixed' | 'alternative' | 'related';
  readonly boundary: string;
}

/** Combines the parts into one; a single part stays as it is. */
export const multipart = ({ subtype, boundary }: Multipart, parts: readonly MimePart[]): MimePart => {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const type = subtype === 'related' ? '; type="text/html"' : '';
  return {
    head: `Content-Type: multipart/${subtype}${type};\r\n boundary="${boundary}"\r\n`,
    content: [
      ...parts.flatMap(({ head, content }) => [`--${boundary}\r\n${head}\r\n`, ...content]),
      `--${boundary}--\r\n`,
    ],
  };
};
