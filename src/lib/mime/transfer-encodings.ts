import { setImmediate as othersTurn } from 'node:timers/promises';

/** Base64 that is broken into lines on sending (RFC 2045 §6.8). Attachments stay unbroken until then. */
export interface Base64Text {
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
const LINE_CHARACTERS_MAX = 76;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const EQUALS = 0x3d;
const HEX = '0123456789ABCDEF';

/** Spaces may be literal except at the end of a line, where servers strip them. */
const isLiteral = (byte: number, next: number | undefined): boolean => {
  if (byte === SPACE || byte === TAB) return next !== CR && next !== undefined;
  return byte > SPACE && byte <= 0x7e && byte !== EQUALS;
};

/** Appends to a buffer large enough for the worst case. A line is broken before it would grow too long. */
const createWriter = (bytes: number) => {
  const out = Buffer.allocUnsafe(bytes * 3 + Math.ceil(bytes / 20) * 3 + 8);
  let length = 0;
  let column = 0;
  const makeRoom = (characters: number): void => {
    if (column + characters < LINE_CHARACTERS_MAX) return;
    length += out.write('=\r\n', length, 'latin1');
    column = 0;
  };
  return {
    literal: (byte: number): void => {
      makeRoom(1);
      out[length] = byte;
      length += 1;
      column += 1;
    },
    escaped: (byte: number): void => {
      makeRoom(3);
      out[length] = EQUALS;
      out[length + 1] = HEX.charCodeAt(byte >> 4);
      out[length + 2] = HEX.charCodeAt(byte & 15);
      length += 3;
      column += 3;
    },
    lineBreak: (): void => {
      length += out.write('\r\n', length, 'latin1');
      column = 0;
    },
    text: (): string => out.toString('latin1', 0, length),
  };
};

/** Text with CRLF line ends as quoted-printable UTF-8. Spaces at line ends are escaped, and every other control too. */
export const quotedPrintable = (text: string): string => {
  const bytes = Buffer.from(text);
  const writer = createWriter(bytes.length);
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] as number;
    const next = bytes[index + 1];
    if (byte === CR && next === LF) {
      writer.lineBreak();
      index += 1;
    } else if (isLiteral(byte, next)) {
      writer.literal(byte);
    } else {
      writer.escaped(byte);
    }
  }
  return writer.text();
};
