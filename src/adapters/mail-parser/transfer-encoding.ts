import { sectionsOf } from './content-field.ts';
import { CR, decodeSigned, EQUALS, HTAB, LF, SPACE } from './octets.ts';
import { Unreadable } from './unreadable.ts';

/** Octets without the spaces at their end. */
const trimmedEnd = (body: Buffer, start: number, end: number): number => {
  let at = end;
  while (at > start && (body[at - 1] === SPACE || body[at - 1] === HTAB)) at -= 1;
  return at;
};

/** Where the line break of a line begins, and where the next line does. */
const lineBreak = (body: Buffer, start: number): readonly [end: number, next: number] => {
  const lineFeed = body.indexOf(LF, start);
  if (lineFeed < 0) return [body.length, body.length];
  return [lineFeed > start && body[lineFeed - 1] === CR ? lineFeed - 1 : lineFeed, lineFeed + 1];
};

/** RFC 2045 §6.7. What is no encoding stands for itself; spaces at the end of a line were added on the way. */
const quotedPrintableDecoded = (body: Buffer): Buffer => {
  const out = Buffer.allocUnsafe(body.length);
  let length = 0;
  for (let start = 0; start < body.length; ) {
    const [lineEnd, next] = lineBreak(body, start);
    const end = trimmedEnd(body, start, lineEnd);
    const isSoft = end > start && body[end - 1] === EQUALS;
    const copied = body.copy(out, length, start, isSoft ? end - 1 : end);
    length += decodeSigned(out.subarray(length, length + copied), EQUALS);
    if (!isSoft) length += body.copy(out, length, lineEnd, next);
    start = next;
  }
  return out.subarray(0, length);
};

/** Each a piece with its padding, one after the other: nobody writes so many. */
const BASE64_PIECES_MAX = 1_000;

const base64Decoded = (body: Buffer): Buffer => {
  const text = body.toString('latin1');
  const padding = text.indexOf('=');
  if (padding < 0 || !/[A-Za-z0-9+/]/.test(text.slice(padding))) return Buffer.from(text, 'base64');
  const pieces = text.split(/=[=\s]*/, BASE64_PIECES_MAX + 1);
  if (pieces.length > BASE64_PIECES_MAX) throw new Unreadable('a part in base64 goes on after its end');
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64')));
};

/** RFC 2045 §6.4: what is in an encoding that nobody knows cannot be shown, nor sent in another. */
const UNKNOWN_ENCODING = /^x-|uu/;

/** By a `Content-Transfer-Encoding` (RFC 2045 §6). @throws {Unreadable} */
export const decoderOf = (text: string): ((body: Buffer) => Buffer) => {
  const [encoding = ''] = /[\w-]+/.exec(sectionsOf(text)[0]?.toLowerCase() ?? '') ?? [];
  if (encoding === 'base64') return base64Decoded;
  if (encoding === 'quoted-printable') return quotedPrintableDecoded;
  if (UNKNOWN_ENCODING.test(encoding)) throw new Unreadable(`the transfer encoding ${encoding} is not known`);
  return (body) => body;
};
