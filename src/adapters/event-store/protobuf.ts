/**
 * The wire format of protocol buffers, as far as EventStoreDB's messages use it: a field is a tag (its number and wire
 * type) and its value, a varint or a length and as many bytes. Unknown fields are skipped, so that newer servers may send
 * more; a field that is not sent has the value zero or nothing.
 */

export interface Reader {
  readonly bytes: Buffer;
  at: number;
}

/** Reads the value of one field. @returns false: it was left, and has to be skipped. */
export type ReadField = (reader: Reader, field: number) => boolean;

const WIRE_BITS = 3;
const WIRE_MASK = 7;
const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;
/** Of a byte of a varint: that more follow. The other seven bits are the number's, the lowest first. */
const MORE = 0x80;
const BITS = 7;

/** Exact up to 2^53. */
export const readNumber = (reader: Reader): number => {
  for (let value = 0, factor = 1; ; factor *= MORE) {
    const byte = reader.bytes[reader.at] ?? 0;
    reader.at += 1;
    if (byte < MORE) return value + byte * factor;
    value += (byte - MORE) * factor;
  }
};

/** Four bytes of a varint are seven hexadecimal digits. */
const PART_BITS = 28;

/** As an unsigned 64-bit number is read digit by digit: exact, and without a `BigInt` for each event. */
const readPart = (reader: Reader): { readonly bits: number; readonly isLast: boolean } => {
  let bits = 0;
  for (let shift = 0; shift < PART_BITS; shift += BITS) {
    const byte = reader.bytes[reader.at] ?? 0;
    reader.at += 1;
    bits += (byte % MORE) << shift;
    if (byte < MORE) return { bits, isLast: true };
  }
  return { bits, isLast: false };
};

const NO_PART = { bits: 0, isLast: true } as const;
const digits = (bits: number, count: number): string => bits.toString(16).padStart(count, '0');

/** An unsigned 64-bit number as 16 hexadecimal digits. */
export const readDigits = (reader: Reader): string => {
  const low = readPart(reader);
  const middle = low.isLast ? NO_PART : readPart(reader);
  const high = middle.isLast ? NO_PART : readPart(reader);
  return digits(high.bits, 2) + digits(middle.bits, 7) + digits(low.bits, 7);
};

export const readText = (reader: Reader): string => {
  const length = readNumber(reader);
  reader.at += length;
  return reader.bytes.toString('utf8', reader.at - length, reader.at);
};

const skip = (reader: Reader, wire: number): void => {
  const number = wire === VARINT || wire === BYTES ? readNumber(reader) : 0;
  if (wire === BYTES) reader.at += number;
  else if (wire === FIXED_64) reader.at += 8;
  else if (wire === FIXED_32) reader.at += 4;
  else if (wire !== VARINT) throw new RangeError(`${wire} is no wire type`);
};

/** Reads a message from where the reader stands to `end`. */
export const readFields = (reader: Reader, end: number, read: ReadField): void => {
  while (reader.at < end) {
    const tag = readNumber(reader);
    if (!read(reader, tag >>> WIRE_BITS)) skip(reader, tag & WIRE_MASK);
  }
};

/** Reads a message that is a field of another. */
export const readMessage = (reader: Reader, read: ReadField): void => {
  const length = readNumber(reader);
  readFields(reader, reader.at + length, read);
};

const bytesOf = (value: number): readonly number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= MORE; rest = Math.floor(rest / MORE)) bytes.push(MORE + (rest % MORE));
  return [...bytes, rest];
};

const bytesOfLarge = (value: bigint): readonly number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= BigInt(MORE); rest >>= BigInt(BITS)) bytes.push(MORE + Number(rest % BigInt(MORE)));
  return [...bytes, Number(rest)];
};

/** A field that is an unsigned number. */
export const numberField = (field: number, value: number | bigint): Uint8Array =>
  Buffer.from([(field << WIRE_BITS) | VARINT, ...(typeof value === 'bigint' ? bytesOfLarge(value) : bytesOf(value))]);

/** A field that is a message of these fields, or bytes. */
export const bytesField = (field: number, ...parts: readonly Uint8Array[]): readonly Uint8Array[] => {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return [Buffer.from([(field << WIRE_BITS) | BYTES, ...bytesOf(length)]), ...parts];
};

export const textField = (field: number, text: string): readonly Uint8Array[] =>
  bytesField(field, Buffer.from(text, 'utf8'));
