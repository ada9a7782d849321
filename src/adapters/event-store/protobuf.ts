/**
 * The wire format of protocol buffers, as far as EventStoreDB's messages use it. A field is a tag (its number and wire
 * type) and its value: a varint, or a length and that many bytes. Unknown fields are skipped, so that newer servers may
 * send more. A missing field has the value zero or nothing.
 */

export interface Reader {
  readonly bytes: Buffer;
  at: number;
}

/** Reads the value of one field. @returns false if the field was not read and must be skipped. */
export type ReadField = (reader: Reader, field: number) => boolean;

const WIRE_BITS = 3;
const WIRE_MASK = 7;
const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;
/** Continuation bit in a byte of a varint. The other seven bits belong to the number, the lowest first. */
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

/** An unsigned 64-bit number is read in parts: exact, and without a `BigInt` for each event. */
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

/** Reads a message from the reader's position to `end`. */
export const readFields = (reader: Reader, end: number, read: ReadField): void => {
  while (reader.at < end) {
    const tag = readNumber(reader);
    if (!read(reader, tag >>> WIRE_BITS)) skip(reader, tag & WIRE_MASK);
  }
};

/** Reads a message that is a field of another message. */
export const readMessage = (reader: Reader, read: ReadField): void => {
  const length = readNumber(reader);
  readFields(reader, reader.at + length, read);
};

/**
 * Writes a message from its end to its start: the last field first, and the content of a field before its length, which
 * is then known. Nothing is copied.
 */
export interface Writer {
  readonly bytes: Buffer;
  /** Start of the written part. */
  at: number;
}

/** @param bytesMax at least the length of the message. */
export const createWriter = (bytesMax: number): Writer => ({ bytes: Buffer.allocUnsafe(bytesMax), at: bytesMax });

export const written = ({ bytes, at }: Writer): Buffer => bytes.subarray(at);

/** Exact up to 2^53. */
const writeVarint = (writer: Writer, value: number): void => {
  let size = 1;
  for (let rest = value; rest >= MORE; rest = Math.floor(rest / MORE)) size += 1;
  writer.at -= size;
  let rest = value;
  for (let index = 0; index < size - 1; index += 1) {
    writer.bytes[writer.at + index] = MORE + (rest % MORE);
    rest = Math.floor(rest / MORE);
  }
  writer.bytes[writer.at + size - 1] = rest;
};

const writeTag = (writer: Writer, field: number, wire: number): void =>
  writeVarint(writer, (field << WIRE_BITS) | wire);

/** A field with an unsigned number. */
export const writeNumber = (writer: Writer, field: number, value: number): void => {
  writeVarint(writer, value);
  writeTag(writer, field, VARINT);
};

/** A field with an unsigned 64-bit number in hexadecimal digits. */
export const writeDigits = (writer: Writer, field: number, hexadecimal: string): void => {
  const bytes: number[] = [];
  let rest = BigInt(`0x${hexadecimal}`);
  for (; rest >= BigInt(MORE); rest >>= BigInt(BITS)) bytes.push(MORE + Number(rest % BigInt(MORE)));
  bytes.push(Number(rest));
  writer.at -= bytes.length;
  writer.bytes.set(bytes, writer.at);
  writeTag(writer, field, VARINT);
};

/** A field with text. */
export const writeText = (writer: Writer, field: number, text: string): void => {
  const length = Buffer.byteLength(text, 'utf8');
  writer.at -= length;
  writer.bytes.write(text, writer.at, 'utf8');
  writeVarint(writer, length);
  writeTag(writer, field, BYTES);
};

/** A field with a message. @param write writes its fields, the last first. */
export const writeMessage = (writer: Writer, field: number, write: () => void): void => {
  const end = writer.at;
  write();
  writeVarint(writer, end - writer.at);
  writeTag(writer, field, BYTES);
};

/** A field whose message has no fields: its presence is the information. */
export const writeEmpty = (writer: Writer, field: number): void => {
  writeVarint(writer, 0);
  writeTag(writer, field, BYTES);
};
