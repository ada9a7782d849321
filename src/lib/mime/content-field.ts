import { isAscii, isUtf8 } from 'node:buffer';

/** A message that cannot be read; its text is the reason, in a phrase. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

/**
 * Labels without information. Such text is read as UTF-8 if it is valid UTF-8, else as Windows-1252, like mail programs
 * do.
 */
const UNDECLARED = new Set([
  '',
  'us-ascii',
  'ascii',
  'ansi_x3.4-1968',
  'default',
  'unknown',
  'unknown-8bit',
  'x-unknown',
]);
/** Names that mail programs write but the Encoding Standard lacks. */
const ALIASES: Readonly<Record<string, string>> = {
  utf8mb4: 'utf-8',
  utf_8: 'utf-8',
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
};
/** Encodings that hide other characters behind ASCII. */
const STATEFUL = /utf-7|^hz-|^iso-2022-/;

const decoderOf = (charset: string) => {
  try {
    return new TextDecoder(ALIASES[charset] ?? charset);
  } catch {
    return null;
  }
};

/** Decodes text in a charset, by its name in the mail (empty: none). Null: the charset is not supported. */
export const bytesInCharset = (bytes: Uint8Array, label: string): string | null => {
  const charset = label.trim().toLowerCase();
  if (UNDECLARED.has(charset)) return new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252').decode(bytes);
  const decoder = decoderOf(charset);
  if (decoder !== null) return decoder.decode(bytes);
  const isPlain = !STATEFUL.test(charset) && (isAscii(bytes) || isUtf8(bytes));
  return isPlain ? new TextDecoder().decode(bytes) : null;
};

export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const HTAB = 0x09;
export const EQUALS = 0x3d;
export const PERCENT = 0x25;
export const HYPHEN = 0x2d;

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
export const decodeSigned = (bytes: Uint8Array, sign: number): number => {
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
export interface MimeParameter {
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
export const sectionsOf = (text: string): readonly string[] => {
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
export const contentFieldOf = (text: string): ContentField => {
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
