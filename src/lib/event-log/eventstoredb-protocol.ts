import { type AppendResult, LOG_START, type Position } from './event-log.ts';

/**
 * The wire format of protocol buffers, as far as EventStoreDB's messages use it. A field is a tag (its number and wire
 * type) and its value: a varint, or a length and that many bytes. Unknown fields are skipped, so that newer servers may
 * send more. A missing field has the value zero or nothing.
 */

interface Reader {
  readonly bytes: Buffer;
  at: number;
}

/** Reads the value of one field. @returns false if the field was not read and must be skipped. */
type ReadField = (reader: Reader, field: number) => boolean;

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
const readNumber = (reader: Reader): number => {
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

const readText = (reader: Reader): string => {
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
const readFields = (reader: Reader, end: number, read: ReadField): void => {
  while (reader.at < end) {
    const tag = readNumber(reader);
    if (!read(reader, tag >>> WIRE_BITS)) skip(reader, tag & WIRE_MASK);
  }
};

/** Reads a message that is a field of another message. */
const readMessage = (reader: Reader, read: ReadField): void => {
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
const writeEmpty = (writer: Writer, field: number): void => {
  writeVarint(writer, 0);
  writeTag(writer, field, BYTES);
};

/**
 * Appends in EventStoreDB's protocol: `BatchAppendReq` and `BatchAppendResp` of its `streams.proto`, with the field
 * numbers below. Written by hand for the same reason as reads.
 */

/** The answer to an append, identified by the number sent with it. */
export type AppendMessage =
  | { readonly number: number; readonly appended: AppendResult }
  /** The whole message, to be decoded by the generated classes. */
  | { readonly number: number; readonly refusal: Uint8Array };

/** An event in its wire form; both parts are JSON. */
export interface EncodedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
  /** Size of both parts. */
  readonly bytes: number;
}

export type ExpectedRevision = number | 'no-stream';

/** Appends are numbered within a call; the protocol wants a UUID. */
const CORRELATION = '00000000-0000-4000-8000-';
const NUMBER_DIGITS = 12;
const HEXADECIMAL = 16;

/** `BatchAppendResp.Success` */
const readSuccess = (reader: Reader): AppendResult => {
  let [revision, position] = [0, ''];
  readMessage(reader, (inner, field) => {
    if (field === 1) revision = readNumber(inner);
    else if (field === 3) position = readPosition(inner);
    return field === 1 || field === 3;
  });
  if (position === '') throw new Error('the event store answered an append without its position');
  return { revision, position };
};

/** `BatchAppendResp` */
export const decodeAppended = (bytes: Buffer): AppendMessage => {
  let number = 0;
  let appended: AppendResult | undefined;
  readFields({ bytes, at: 0 }, bytes.length, (reader, field) => {
    if (field === 1) number = Number.parseInt(readOnlyText(reader, UUID_TEXT).slice(CORRELATION.length), HEXADECIMAL);
    else if (field === 3) appended = readSuccess(reader);
    return field === 1 || field === 3;
  });
  return appended === undefined ? { number, refusal: bytes } : { number, appended };
};

const writeUuid = (writer: Writer, field: number, id: string): void =>
  writeMessage(writer, field, () => writeText(writer, UUID_TEXT, id));

const writeEntry = (writer: Writer, field: number, key: string, value: string): void =>
  writeMessage(writer, field, () => {
    writeText(writer, 2, value);
    writeText(writer, 1, key);
  });

/** `BatchAppendReq.ProposedMessage` */
const writeProposed = (writer: Writer, { id, type, data, metadata }: EncodedEvent): void =>
  writeMessage(writer, 3, () => {
    writeText(writer, 4, data);
    writeText(writer, 3, metadata);
    writeEntry(writer, 2, 'content-type', 'application/json');
    writeEntry(writer, 2, 'type', type);
    writeUuid(writer, 1, id);
  });

/** `BatchAppendReq.Options`. No deadline: in the protocol it is a time of day, which differs between clocks. */
const writeOptions = (writer: Writer, stream: string, expected: ExpectedRevision): void =>
  writeMessage(writer, 2, () => {
    if (expected === 'no-stream') writeEmpty(writer, 3);
    else writeNumber(writer, 2, expected);
    writeMessage(writer, 1, () => writeText(writer, STREAM_NAME, stream));
  });

/** Part of an append, whose events may be spread over several messages. */
interface AppendPart {
  readonly number: number;
  readonly events: readonly EncodedEvent[];
  /** Only in the first part. */
  readonly to: { readonly stream: string; readonly expected: ExpectedRevision } | null;
  readonly isLast: boolean;
}

/** Upper bound for the fixed bytes of a message, and of an event in it, without their texts. */
const APPEND_BYTES_MAX = 200;
const UTF8_BYTES_MAX = 3;

const bytesMaxOf = ({ events, to }: AppendPart): number =>
  events.reduce(
    (sum, { id, type, bytes }) => sum + APPEND_BYTES_MAX + UTF8_BYTES_MAX * (id.length + type.length) + bytes,
    APPEND_BYTES_MAX + UTF8_BYTES_MAX * (to?.stream.length ?? 0),
  );

/** `BatchAppendReq` */
export const encodeAppend = (part: AppendPart): Buffer => {
  const { number, events, to, isLast } = part;
  const writer = createWriter(bytesMaxOf(part));
  if (isLast) writeNumber(writer, 4, 1);
  for (const event of events.toReversed()) writeProposed(writer, event);
  if (to !== null) writeOptions(writer, to.stream, to.expected);
  writeUuid(writer, 1, CORRELATION + number.toString(HEXADECIMAL).padStart(NUMBER_DIGITS, '0'));
  return written(writer);
};

/**
 * Reads and subscriptions in EventStoreDB's protocol: `ReadReq` and `ReadResp` of its `streams.proto`, with the field
 * numbers below. Written by hand, because the client's generated classes make some forty objects for an event and take
 * five times the processor time.
 */

/** One event of the server, ours or not, before it is decoded. */
export interface RawEvent {
  readonly stream: string;
  readonly id: string;
  readonly revision: number;
  readonly position: Position;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

/** Messages that a read or a subscription receives. */
export type ReadMessage =
  | { readonly kind: 'event'; readonly event: RawEvent }
  | { readonly kind: 'checkpoint'; readonly position: Position }
  /** The subscription is open; it has sent all existing events; the stream does not exist; something else. */
  | { readonly kind: 'confirmed' | 'caught-up' | 'no-stream' | 'other' };

/** `UUID.string` */
const UUID_TEXT = 2;
/** `StreamIdentifier.stream_name` */
const STREAM_NAME = 3;

/** The text field of a message that has one. */
const readOnlyText = (reader: Reader, textIn: number): string => {
  let found = '';
  readMessage(reader, (inner, field) => {
    if (field !== textIn) return false;
    found = readText(inner);
    return true;
  });
  return found;
};

const ZERO = '0'.repeat(16);

/**
 * `AllStreamPosition` and `Checkpoint`: commit and prepare position at fixed width, so that positions compare as text.
 */
const readPosition = (reader: Reader): Position => {
  let [commit, prepare] = [ZERO, ZERO];
  readMessage(reader, (inner, field) => {
    if (field === 1) commit = readDigits(inner);
    else if (field === 2) prepare = readDigits(inner);
    return field === 1 || field === 2;
  });
  return commit + prepare;
};

/** An entry of an event's `metadata` map. One is its type, the others are not used. */
const readType = (reader: Reader): string | null => {
  let [key, value] = ['', ''];
  readMessage(reader, (inner, field) => {
    if (field === 1) key = readText(inner);
    else if (field === 2) value = readText(inner);
    return field === 1 || field === 2;
  });
  return key === 'type' ? value : null;
};

/** `ReadResp.ReadEvent.RecordedEvent` */
const readRecordedEvent = (reader: Reader): RawEvent => {
  let [id, stream, type, revision] = ['', '', '', 0];
  let [commit, prepare] = [ZERO, ZERO];
  let [data, metadata] = ['', ''];
  readMessage(reader, (inner, field) => {
    switch (field) {
      case 1:
        id = readOnlyText(inner, UUID_TEXT);
        return true;
      case 2:
        stream = readOnlyText(inner, STREAM_NAME);
        return true;
      case 3:
        revision = readNumber(inner);
        return true;
      case 4:
        prepare = readDigits(inner);
        return true;
      case 5:
        commit = readDigits(inner);
        return true;
      case 6:
        type = readType(inner) ?? type;
        return true;
      case 7:
        metadata = readText(inner);
        return true;
      case 8:
        data = readText(inner);
        return true;
      default:
        return false;
    }
  });
  return { stream, id, revision, position: commit + prepare, type, data, metadata };
};

const OTHER: ReadMessage = { kind: 'other' };

/** `ReadResp.ReadEvent`. A link whose event is gone is ignored. */
const readEvent = (reader: Reader): ReadMessage => {
  let message: ReadMessage = OTHER;
  readMessage(reader, (inner, field) => {
    if (field === 1) message = { kind: 'event', event: readRecordedEvent(inner) };
    return field === 1;
  });
  return message;
};

/** Messages whose presence is their meaning, by their fields in `ReadResp`. */
const SIGNALS: Readonly<Record<number, ReadMessage>> = {
  2: { kind: 'confirmed' },
  4: { kind: 'no-stream' },
  8: { kind: 'caught-up' },
};

/** `ReadResp` */
export const decodeRead = (bytes: Buffer): ReadMessage => {
  let message: ReadMessage = OTHER;
  readFields({ bytes, at: 0 }, bytes.length, (reader, field) => {
    if (field === 1) message = readEvent(reader);
    else if (field === 3) message = { kind: 'checkpoint', position: readPosition(reader) };
    else message = SIGNALS[field] ?? message;
    return field === 1 || field === 3;
  });
  return message;
};

type Direction = 'forwards' | 'backwards';

/** A read: of a stream, or of the whole log. */
export type CountedQuery =
  | {
      readonly stream: string;
      readonly from: number | 'start' | 'end';
      readonly way: Direction;
      readonly count: number;
    }
  | { readonly all: Position | 'end'; readonly way: Direction; readonly count: number };

/** Request to the server. */
export type ReadQuery =
  | CountedQuery
  /**
   * Strictly after a position. Only streams with one of these prefixes, or everything except the server's own events.
   */
  | { readonly after: Position; readonly prefixes: readonly string[]; readonly checkpointWindows: number };

/** Hexadecimal digits of an unsigned 64-bit number. */
const DIGITS = 16;
const POSITION = /^[0-9a-f]{32}$/;

/** Length of the log between two positions, which count its bytes. */
export const bytesBetween = (from: Position, to: Position): number =>
  Number.parseInt(to.slice(0, DIGITS), 16) - Number.parseInt(from.slice(0, DIGITS), 16);

/** @throws {RangeError} for a position of another engine's log. */
const writePosition = (writer: Writer, position: Position): void => {
  if (!POSITION.test(position)) throw new RangeError(`"${position}" is no position of an EventStoreDB log`);
  writeMessage(writer, 1, () => {
    writeDigits(writer, 2, position.slice(DIGITS));
    writeDigits(writer, 1, position.slice(0, DIGITS));
  });
};

/** `ReadReq.Options.AllOptions` */
const writeAll = (writer: Writer, from: Position | 'end'): void =>
  writeMessage(writer, 2, () => {
    if (from === LOG_START) writeEmpty(writer, 2);
    else if (from === 'end') writeEmpty(writer, 3);
    else writePosition(writer, from);
  });

/** `ReadReq.Options.StreamOptions` */
const writeStream = (writer: Writer, stream: string, from: number | 'start' | 'end'): void =>
  writeMessage(writer, 1, () => {
    if (typeof from === 'number') writeNumber(writer, 2, from);
    else writeEmpty(writer, from === 'start' ? 3 : 4);
    writeMessage(writer, 1, () => writeText(writer, STREAM_NAME, stream));
  });

const NOT_THE_SERVERS_OWN = '^[^$].*';

/** `ReadReq.Options.FilterOptions`: by the stream's name, or by the event's type. */
const writeFilter = (writer: Writer, prefixes: readonly string[], checkpointWindows: number): void =>
  writeMessage(writer, 7, () => {
    writeNumber(writer, 5, checkpointWindows);
    writeEmpty(writer, 4);
    const texts = prefixes.length === 0 ? [NOT_THE_SERVERS_OWN] : prefixes;
    const [by, field] = prefixes.length === 0 ? [2, 1] : [1, 2];
    writeMessage(writer, by, () => {
      for (const text of texts) writeText(writer, field, text);
    });
  });

const writeQuery = (writer: Writer, query: ReadQuery): void => {
  if ('after' in query) {
    writeFilter(writer, query.prefixes, query.checkpointWindows);
    writeEmpty(writer, 6);
    writeAll(writer, query.after);
    return;
  }
  writeEmpty(writer, 8);
  writeNumber(writer, 5, query.count);
  writeNumber(writer, 3, query.way === 'forwards' ? 0 : 1);
  if ('stream' in query) writeStream(writer, query.stream, query.from);
  else writeAll(writer, query.all);
};

/** Bytes besides names, whose characters take at most three bytes each. */
const QUERY_BYTES_MAX = 1_000;

/** `ReadReq` */
export const encodeRead = (query: ReadQuery): Buffer => {
  const writer = createWriter(QUERY_BYTES_MAX + 3 * JSON.stringify(query).length);
  writeMessage(writer, 1, () => {
    writeMessage(writer, 9, () => writeEmpty(writer, 2)); // ids as text
    writeQuery(writer, query);
  });
  return written(writer);
};
