import { isUtf8 } from 'node:buffer';
import {
  type ContentField,
  CR,
  contentFieldOf,
  decodeSigned,
  EQUALS,
  HTAB,
  HYPHEN,
  LF,
  parameterOf,
  SPACE,
  sectionsOf,
  Unreadable,
} from './content-field.ts';
import { fieldsOf, HEADERS_BYTES_MAX, type HeaderField, headEnd } from './read-headers.ts';

/** End of the octets without trailing spaces and tabs. */
const trimmedEnd = (body: Buffer, start: number, end: number): number => {
  let at = end;
  while (at > start && (body[at - 1] === SPACE || body[at - 1] === HTAB)) at -= 1;
  return at;
};

/** Offsets of a line's break and of the next line. */
const lineBreak = (body: Buffer, start: number): readonly [end: number, next: number] => {
  const lineFeed = body.indexOf(LF, start);
  if (lineFeed < 0) return [body.length, body.length];
  return [lineFeed > start && body[lineFeed - 1] === CR ? lineFeed - 1 : lineFeed, lineFeed + 1];
};

/** RFC 2045 §6.7. Invalid encodings are kept literally. Trailing spaces were added in transit and are dropped. */
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

/** Concatenated pieces, each with its own padding. No program writes this many. */
const BASE64_PIECES_MAX = 1_000;

const base64Decoded = (body: Buffer): Buffer => {
  const text = body.toString('latin1');
  const padding = text.indexOf('=');
  if (padding < 0 || !/[A-Za-z0-9+/]/.test(text.slice(padding))) return Buffer.from(text, 'base64');
  const pieces = text.split(/=[=\s]*/, BASE64_PIECES_MAX + 1);
  if (pieces.length > BASE64_PIECES_MAX) throw new Unreadable('a part in base64 goes on after its end');
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64')));
};

/** RFC 2045 §6.4: content in an unknown encoding can be neither shown nor re-encoded. */
const UNKNOWN_ENCODING = /^x-|uu/;

/** Decoder for a `Content-Transfer-Encoding` (RFC 2045 §6). @throws {Unreadable} */
export const decoderOf = (text: string): ((body: Buffer) => Buffer) => {
  const [encoding = ''] = /[\w-]+/.exec(sectionsOf(text)[0]?.toLowerCase() ?? '') ?? [];
  if (encoding === 'base64') return base64Decoded;
  if (encoding === 'quoted-printable') return quotedPrintableDecoded;
  if (UNKNOWN_ENCODING.test(encoding)) throw new Unreadable(`the transfer encoding ${encoding} is not known`);
  return (body) => body;
};

/**
 * A message as a tree of its parts (RFC 5322, RFC 2045, RFC 2046), each with its header and its decoded bytes. We use
 * our own reader, because a part that is forwarded must keep its bytes, its parameters and its place, and parsers for
 * readers keep none of them. Linear in the size of the message; each level of nesting reads its part once more.
 */

export interface MimeEntity {
  readonly headers: readonly HeaderField[];
  readonly type: ContentField;
  /** The disposition; `value` is empty if the field is missing. */
  readonly disposition: ContentField;
  /** Without its angle brackets. */
  readonly contentId: string | null;
  /** The parts of a multipart; null for any other part. */
  readonly parts: readonly MimeEntity[] | null;
  /** The body after transfer decoding. Not available for a multipart. */
  bytes(): Buffer;
}

/** Mail programs nest three or four levels; each level is read once more. */
const NESTING_MAX = 20;
/** Far above the usual twenty attachments; each part costs microseconds. */
const PARTS_MAX = 500;
/** Each line costs half a microsecond, however short. 25 MB of base64 have a third as many. */
const LINES_MAX = 1_000_000;

const requireFewLines = (raw: Buffer): void => {
  if (raw.length <= LINES_MAX) return;
  let lines = 0;
  for (let at = raw.indexOf(LF); at >= 0; at = raw.indexOf(LF, at + 1)) {
    lines += 1;
    if (lines > LINES_MAX) throw new Unreadable(`it has more than ${LINES_MAX} lines`);
  }
};

interface Delimiter {
  readonly start: number;
  /** Offset after the delimiter line. */
  readonly next: number;
  readonly isLast: boolean;
}

const BLANKS: readonly (number | undefined)[] = [SPACE, HTAB, CR];

/**
 * Reads the line `--boundary` or `--boundary--`, followed by white space at most (RFC 2046 §5.1.1). Null: another line.
 */
const delimiterAt = (body: Buffer, start: number, length: number): Delimiter | null => {
  if (start > 0 && body[start - 1] !== LF) return null;
  let at = start + length;
  const isLast = body[at] === HYPHEN && body[at + 1] === HYPHEN;
  if (isLast) at += 2;
  while (BLANKS.includes(body[at])) at += 1;
  return at === body.length || body[at] === LF ? { start, next: Math.min(at + 1, body.length), isLast } : null;
};

function* delimitersIn(body: Buffer, boundary: string): Generator<Delimiter> {
  const text = Buffer.from(`--${boundary}`);
  for (let at = body.indexOf(text); at >= 0; at = body.indexOf(text, at + text.length)) {
    const delimiter = delimiterAt(body, at, text.length);
    if (delimiter !== null) yield delimiter;
    if (delimiter?.isLast === true) return;
  }
}

/** The line break before a delimiter is part of it. */
const withoutLineEnd = (body: Buffer, start: number, end: number): Buffer => {
  let stop = end;
  if (stop > start && body[stop - 1] === LF) stop -= 1;
  if (stop > start && stop < end && body[stop - 1] === CR) stop -= 1;
  return body.subarray(start, stop);
};

/** The parts of a multipart. A part that is cut off ends with the message. */
const sectionsBetween = (body: Buffer, boundary: string): readonly Buffer[] => {
  const sections: Buffer[] = [];
  let open: Delimiter | null = null;
  for (const delimiter of delimitersIn(body, boundary)) {
    if (open !== null) sections.push(withoutLineEnd(body, open.next, delimiter.start));
    open = delimiter;
    if (sections.length > PARTS_MAX) break;
  }
  return open === null || open.isLast ? sections : [...sections, body.subarray(open.next)];
};

const firstValue = (headers: readonly HeaderField[], name: string): string | null =>
  headers.find((field) => field.name.toLowerCase() === name)?.value ?? null;

/** Enforces limits over all parts of a message. @throws {Unreadable} */
const createBounds = () => {
  let headerBytes = 0;
  let parts = 0;
  return (head: Buffer, depth: number): void => {
    headerBytes += head.length;
    parts += 1;
    if (depth > NESTING_MAX) throw new Unreadable(`its parts are deeper than ${NESTING_MAX}`);
    if (headerBytes > HEADERS_BYTES_MAX) throw new Unreadable(`its headers are larger than ${HEADERS_BYTES_MAX} bytes`);
    if (parts > PARTS_MAX) throw new Unreadable(`it has more than ${PARTS_MAX} parts`);
    // RFC 6532 §3.2: headers that are not UTF-8 would silently become another text.
    if (!isUtf8(head)) throw new Unreadable('its headers are neither ASCII nor UTF-8');
  };
};

/** @throws {Unreadable} if it is larger, deeper or has more parts than real mail, or cannot be understood. */
export const readMimeTree = (raw: Buffer): MimeEntity => {
  requireFewLines(raw);
  const requireWithin = createBounds();

  const partsOf = (type: ContentField, body: Buffer, depth: number): readonly MimeEntity[] => {
    const boundary = parameterOf(type, 'boundary') ?? '';
    const sections = boundary === '' ? [] : sectionsBetween(body, boundary);
    if (sections.length === 0) throw new Unreadable(`it is ${type.value}, but no part of it can be found`);
    const usual = type.value === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
    return sections.map((section) => entityOf(section, depth + 1, usual));
  };

  const entityOf = (bytes: Buffer, depth: number, usualType: string): MimeEntity => {
    const [end, start] = headEnd(bytes);
    const [head, body] = [bytes.subarray(0, end), bytes.subarray(start)];
    requireWithin(head, depth);
    const headers = fieldsOf(head);
    const content = (name: string): string => firstValue(headers, `content-${name}`) ?? '';
    const written = contentFieldOf(content('type'));
    const type = written.value === '' || written.value === 'text' ? { ...written, value: usualType } : written;
    const isMultipart = type.value.startsWith('multipart/');
    const decoded = isMultipart ? () => body : decoderOf(content('transfer-encoding'));
    return {
      headers,
      type,
      disposition: contentFieldOf(content('disposition')),
      contentId: content('id').replace(/^<(.*)>$/, '$1') || null,
      parts: isMultipart ? partsOf(type, body, depth) : null,
      bytes: () => decoded(body),
    };
  };

  return entityOf(raw, 0, 'text/plain');
};
