import { LOG_START, type Position } from '../../domain/kernel/event-store.ts';
import {
  createWriter,
  type Reader,
  readDigits,
  readFields,
  readMessage,
  readNumber,
  readText,
  type Writer,
  writeDigits,
  writeEmpty,
  writeMessage,
  writeNumber,
  writeText,
  written,
} from './protobuf.ts';

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
export const UUID_TEXT = 2;
/** `StreamIdentifier.stream_name` */
export const STREAM_NAME = 3;

/** The text field of a message that has one. */
export const readOnlyText = (reader: Reader, textIn: number): string => {
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
export const readPosition = (reader: Reader): Position => {
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
const FIXED_BYTES_MAX = 1_000;

/** `ReadReq` */
export const encodeRead = (query: ReadQuery): Buffer => {
  const writer = createWriter(FIXED_BYTES_MAX + 3 * JSON.stringify(query).length);
  writeMessage(writer, 1, () => {
    writeMessage(writer, 9, () => writeEmpty(writer, 2)); // ids as text
    writeQuery(writer, query);
  });
  return written(writer);
};
