import { isUtf8 } from 'node:buffer';
import { bytesInCharset } from './charset.ts';

/** A message that cannot be read; its text is the reason, in a phrase. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

/** Called with each problem of a message, as a phrase. If it returns, the message is read as far as possible. */
export type OnProblem = (problem: string) => void;

/** Rejects the message. */
export const reject: OnProblem = (problem) => {
  throw new Unreadable(problem);
};

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const HTAB = 0x09;
const EQUALS = 0x3d;
const PERCENT = 0x25;
const HYPHEN = 0x2d;

/** Values of hexadecimal digits by octet; -1 for other octets. */
const HEX = new Int8Array(256).fill(-1);
for (const [value, digit] of [...'0123456789ABCDEF'].entries()) {
  HEX[digit.charCodeAt(0)] = value;
  HEX[digit.toLowerCase().charCodeAt(0)] = value;
}

/** The octet that two digits encode; -1 if they are not hexadecimal. */
const octetAt = (bytes: Uint8Array, at: number): number => {
  const [high, low] = [HEX[bytes[at] ?? 0] ?? -1, HEX[bytes[at + 1] ?? 0] ?? -1];
  return high < 0 || low < 0 ? -1 : high * 16 + low;
};

/**
 * Decodes octets written as a sign and two hexadecimal digits, in place. Other octets stay as they are.
 * @returns the length of the result in octets.
 */
const decodeSigned = (bytes: Uint8Array, sign: number): number => {
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const octet = bytes[at] === sign ? octetAt(bytes, at + 1) : -1;
    bytes[length] = octet < 0 ? (bytes[at] as number) : octet;
    length += 1;
    if (octet >= 0) at += 2;
  }
  return length;
};

/** A parameter of a `Content-*` field. */
interface MimeParameter {
  /** In lower case, with the `*` of RFC 2231 where it has one. */
  readonly name: string;
  readonly value: string;
}

/** `text/plain; charset=utf-8` or `attachment; filename=a.pdf`. */
export interface ContentField {
  /** In lower case. */
  readonly value: string;
  /** Parameters as written, each name once. */
  readonly parameters: readonly MimeParameter[];
}

const QUOTED = /"(?:[^"\\]+|\\.)*"?/suy;

const quotedEnd = (text: string, start: number): number => {
  QUOTED.lastIndex = start;
  return start + (QUOTED.exec(text)?.[0].length ?? 1);
};

const DEPTH: Readonly<Record<string, number>> = { '(': 1, ')': -1 };

/** Offset after a comment (RFC 5322 §3.2.2), nested ones included. */
const commentEnd = (text: string, start: number): number => {
  let depth = 1;
  let at = start + 1;
  for (; at < text.length && depth > 0; at += 1) {
    if (text[at] === '\\') at += 1;
    else depth += DEPTH[text[at] as string] ?? 0;
  }
  return at;
};

const lexemeEnd = (text: string, start: number, last: string): number => {
  if (text[start] === '"') return quotedEnd(text, start);
  // Some programs write brackets in file names: after any other character, a bracket does not start a comment.
  return text[start] === '(' && ' ;'.includes(last) ? commentEnd(text, start) : start + 1;
};

/** Yields characters and quoted strings; a comment becomes a space. */
function* lexemesOf(text: string): Generator<string> {
  let last = ' ';
  for (let at = 0; at < text.length; ) {
    const start = at;
    at = lexemeEnd(text, start, last);
    last = text[start] === '(' && at > start + 1 ? ' ' : text.slice(start, at);
    yield last;
  }
}

/** The text between semicolons, without comments. Quoted strings stay whole. */
const sectionsOf = (text: string): readonly string[] => {
  const sections: string[] = [];
  let section = '';
  for (const lexeme of lexemesOf(text)) {
    if (lexeme === ';') sections.push(section.trim());
    section = lexeme === ';' ? '' : section + lexeme;
  }
  return [...sections, section.trim()];
};

/** The content of a quoted string (RFC 5322 §3.2.4). Anything after it is ignored. */
const unquoted = (text: string): string => {
  if (!text.startsWith('"')) return text;
  let value = '';
  for (let at = 1; at < text.length && text[at] !== '"'; at += 1) {
    if (text[at] === '\\') at += 1;
    value += text[at] ?? '';
  }
  return value;
};

/** A `Content-*` field (RFC 2045 §5.1, RFC 2183 §2), in time linear in its size. */
const contentFieldOf = (text: string): ContentField => {
  const [value = '', ...rest] = sectionsOf(text);
  const parameters = new Map<string, string>();
  for (const section of rest) {
    const equals = section.indexOf('=');
    const name = section.slice(0, Math.max(equals, 0)).trim().toLowerCase();
    if (name !== '' && !parameters.has(name)) parameters.set(name, unquoted(section.slice(equals + 1).trim()));
  }
  return { value: value.toLowerCase(), parameters: Array.from(parameters, ([name, one]) => ({ name, value: one })) };
};

const percentDecoded = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return bytes.subarray(0, decodeSigned(bytes, PERCENT));
};

interface Piece {
  readonly text: string;
  /** RFC 2231 §4: octets, some of which are percent-encoded. */
  readonly isExtended: boolean;
}

/** Pieces of a value split by RFC 2231 §3. Empty: the value is written plainly, or missing. */
const piecesOf = (values: ReadonlyMap<string, string>, name: string): readonly Piece[] => {
  const pieceOf = (key: string): Piece | null => {
    const extended = values.get(`${key}*`);
    const text = extended ?? values.get(key);
    return text === undefined ? null : { text, isExtended: extended !== undefined };
  };
  if (values.has(`${name}*`)) return [pieceOf(name) as Piece];
  const pieces: Piece[] = [];
  for (let piece = pieceOf(`${name}*0`); piece !== null; piece = pieceOf(`${name}*${pieces.length}`))
    pieces.push(piece);
  return pieces;
};

/** The value of a parameter, joined and decoded by RFC 2231 if necessary. Null: no such parameter. */
export const parameterOf = ({ parameters }: ContentField, name: string): string | null => {
  const values = new Map(parameters.map((one) => [one.name, one.value]));
  const [first, ...rest] = piecesOf(values, name);
  if (first === undefined) return values.get(name) ?? null;
  const [, charset = '', text = first.text] = (first.isExtended && /^([^']*)'[^']*'(.*)$/s.exec(first.text)) || [];
  const bytes = Buffer.concat(
    [{ ...first, text }, ...rest].map((piece) =>
      piece.isExtended ? percentDecoded(piece.text) : Buffer.from(piece.text),
    ),
  );
  return bytesInCharset(bytes, charset) ?? bytes.toString('utf8');
};

/** Header fields of a message or of a part (RFC 5322 §2.2). */

export interface HeaderField {
  readonly name: string;
  /** Unfolded. HTAB, which is white space like any other (RFC 5322 §2.2.2), becomes a space. */
  readonly value: string;
}

/**
 * Limit for all parts together, far above a hundred recipients and their thread. Each header costs time in proportion.
 */
const HEADERS_BYTES_MAX = 256_000;
/** Limit for one part. Later steps handle each field. Real headers rarely have more than a hundred. */
const FIELDS_MAX = 2_000;

/** The first empty line (RFC 5322 §2.1) and the start of the body. Without such a line, everything is header. */
const headEnd = (bytes: Buffer): readonly [end: number, body: number] => {
  for (let start = 0; start < bytes.length; ) {
    const lineFeed = bytes.indexOf(LF, start);
    const first = bytes[start];
    if (lineFeed === start || (lineFeed === start + 1 && first === CR)) return [start, lineFeed + 1];
    if (lineFeed < 0) break;
    start = lineFeed + 1;
  }
  return [bytes.length, bytes.length];
};

/** A line without a colon becomes a field with that name and no value. */
const fieldOf = (text: string): HeaderField => {
  const colon = text.indexOf(':');
  if (colon < 0) return { name: text.trim(), value: '' };
  return {
    name: text.slice(0, colon).trim(),
    value: text
      .slice(colon + 1)
      .replace(/[\t\r]/g, ' ')
      .trim(),
  };
};

const fieldsIn = (lines: readonly string[]): readonly HeaderField[] => {
  const fields: string[][] = [];
  for (const line of lines) {
    const isFolded = line.startsWith(' ') || line.startsWith('\t');
    if (isFolded && fields.length > 0) fields.at(-1)?.push(line);
    else if (line !== '') fields.push([line]);
  }
  return fields.map((folded) => fieldOf(folded.join('')));
};

const LINE_END = /\r?\n/;

/** RFC 6532 §3.2: headers that are not UTF-8 would silently become another text. Otherwise each line is guessed. */
const headText = (head: Buffer, onProblem: OnProblem): string => {
  if (isUtf8(head)) return head.toString('utf8');
  onProblem('its headers are neither ASCII nor UTF-8');
  const lines = head.toString('latin1').split('\n');
  return lines.map((line) => bytesInCharset(Buffer.from(line, 'latin1'), '')).join('\n');
};

const fieldsOf = (head: Buffer, onProblem: OnProblem): readonly HeaderField[] => {
  const fields = fieldsIn(headText(head, onProblem).split(LINE_END));
  if (fields.length <= FIELDS_MAX) return fields;
  onProblem(`its header has more than ${FIELDS_MAX} fields`);
  return fields.slice(0, FIELDS_MAX);
};

/** The fields of a text, such as a delivery report, from as many lines as a header may have fields. */
export const readFields = (text: string): readonly HeaderField[] => fieldsIn(text.split(LINE_END, FIELDS_MAX));

/** The header fields of a message, even of one that `readMimeTree` rejects. */
export const readHeaders = (raw: Buffer): readonly HeaderField[] => {
  const [end] = headEnd(raw);
  return readFields(raw.subarray(0, Math.min(end, HEADERS_BYTES_MAX)).toString('utf8'));
};

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

const PIECE = /^[A-Za-z0-9+/\s]*$/;

/** Text after the padding is not part of the content: lists add footers to it. */
const base64Decoded = (body: Buffer, onProblem: OnProblem): Buffer => {
  const text = body.toString('latin1');
  const padding = text.indexOf('=');
  if (padding < 0 || !/[^=\s]/.test(text.slice(padding))) return Buffer.from(text, 'base64');
  const pieces = text.split(/=[=\s]*/, BASE64_PIECES_MAX + 1);
  const end = pieces.findIndex((piece, at) => at === BASE64_PIECES_MAX || (at > 0 && !PIECE.test(piece)));
  if (end >= 0) onProblem('a part in base64 goes on after its end');
  return Buffer.concat(pieces.slice(0, end < 0 ? pieces.length : end).map((piece) => Buffer.from(piece, 'base64')));
};

/** RFC 2045 §6.4: content in an unknown encoding can be neither shown nor re-encoded. */
const UNKNOWN_ENCODING = /^x-|uu/;

/** Decodes by the `Content-Transfer-Encoding` (RFC 2045 §6). */
const transferDecoded = (text: string, body: Buffer, onProblem: OnProblem): Buffer => {
  const [encoding = ''] = /[\w-]+/.exec(sectionsOf(text)[0]?.toLowerCase() ?? '') ?? [];
  if (encoding === 'base64') return base64Decoded(body, onProblem);
  if (encoding === 'quoted-printable') return quotedPrintableDecoded(body);
  if (UNKNOWN_ENCODING.test(encoding)) onProblem(`the transfer encoding ${encoding} is not known`);
  return body;
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

const firstLines = (raw: Buffer, onProblem: OnProblem): Buffer => {
  if (raw.length <= LINES_MAX) return raw;
  let lines = 0;
  for (let at = raw.indexOf(LF); at >= 0; at = raw.indexOf(LF, at + 1)) {
    lines += 1;
    if (lines <= LINES_MAX) continue;
    onProblem(`it has more than ${LINES_MAX} lines`);
    return raw.subarray(0, at);
  }
  return raw;
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
  if (boundary === '') return sections;
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

/** Limits over all parts of a message. @returns the problem with a part, or null. */
const createBounds = () => {
  let headerBytes = 0;
  let parts = 0;
  return (head: Buffer, depth: number): string | null => {
    headerBytes += head.length;
    parts += 1;
    if (depth > NESTING_MAX) return `its parts are deeper than ${NESTING_MAX}`;
    if (headerBytes > HEADERS_BYTES_MAX) return `its headers are larger than ${HEADERS_BYTES_MAX} bytes`;
    return parts > PARTS_MAX ? `it has more than ${PARTS_MAX} parts` : null;
  };
};

const typeOf = (text: string, usual: string): ContentField => {
  const written = contentFieldOf(text);
  return written.value === '' || written.value === 'text' ? { ...written, value: usual } : written;
};

/**
 * Reads a message. If `onProblem` returns, it leaves out parts beyond the bounds and reads the rest: the first lines and
 * header fields of too many, unknown encodings as they are, and a multipart without parts as text.
 */
export const readMimeTree = (message: Buffer, onProblem: OnProblem): MimeEntity => {
  const raw = firstLines(message, onProblem);
  const problemWith = createBounds();

  /** Null: not a multipart, or none of its parts can be found. */
  const partsOf = (type: ContentField, body: Buffer, depth: number): readonly MimeEntity[] | null => {
    if (!type.value.startsWith('multipart/')) return null;
    const sections = sectionsBetween(body, parameterOf(type, 'boundary') ?? '');
    const usual = type.value === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
    if (sections.length > 0) return sections.flatMap((section) => partOf(section, depth + 1, usual));
    onProblem(`it is ${type.value}, but no part of it can be found`);
    return null;
  };

  const entityOf = (headers: readonly HeaderField[], body: Buffer, depth: number, usualType: string): MimeEntity => {
    const content = (name: string): string => firstValue(headers, `content-${name}`) ?? '';
    const type = typeOf(content('type'), usualType);
    const parts = partsOf(type, body, depth);
    const isPartless = parts === null && type.value.startsWith('multipart/');
    return {
      headers,
      type: isPartless ? { ...type, value: 'text/plain' } : type,
      disposition: contentFieldOf(content('disposition')),
      contentId: content('id').replace(/^<(.*)>$/, '$1') || null,
      parts,
      bytes: () => (parts === null ? transferDecoded(content('transfer-encoding'), body, onProblem) : body),
    };
  };

  const partOf = (bytes: Buffer, depth: number, usualType: string): readonly MimeEntity[] => {
    const [end, start] = headEnd(bytes);
    const head = bytes.subarray(0, end);
    const problem = problemWith(head, depth);
    if (problem !== null) onProblem(problem);
    if (problem !== null && depth > 0) return [];
    const headers = fieldsOf(head.subarray(0, HEADERS_BYTES_MAX), onProblem);
    return [entityOf(headers, bytes.subarray(start), depth, usualType)];
  };

  return partOf(raw, 0, 'text/plain')[0] as MimeEntity;
};

const leavesOf = (entity: MimeEntity): readonly MimeEntity[] => entity.parts?.flatMap(leavesOf) ?? [entity];

/** The parts without parts of their own, in order, as far as they can be read. Never throws. */
export const readLeaves = (raw: Buffer): readonly MimeEntity[] => leavesOf(readMimeTree(raw, () => {}));
