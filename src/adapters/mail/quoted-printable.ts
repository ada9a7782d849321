/** RFC 2045 §6.7 (5). */
const LINE_CHARACTERS_MAX = 76;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const EQUALS = 0x3d;
const HEX = '0123456789ABCDEF';

/** Spaces may stand anywhere but at the end of a line, where servers strip them. */
const isLiteral = (byte: number, next: number | undefined): boolean => {
  if (byte === SPACE || byte === TAB) return next !== CR && next !== undefined;
  return byte > SPACE && byte <= 0x7e && byte !== EQUALS;
};

/** Appends to a buffer large enough for the worst case; a line is broken before it would grow too long. */
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

/** Text with CRLF line ends as quoted-printable UTF-8. Spaces at the end of a line are escaped, every other control too. */
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
