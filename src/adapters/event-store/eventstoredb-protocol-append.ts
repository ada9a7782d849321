import type { Appended } from '../../domain/kernel/event-store.ts';
import { readOnlyText, readPosition, STREAM_NAME, UUID_TEXT } from './eventstoredb-protocol-read.ts';
import {
  createWriter,
  type Reader,
  readFields,
  readMessage,
  readNumber,
  type Writer,
  writeEmpty,
  writeMessage,
  writeNumber,
  writeText,
  written,
} from './protobuf.ts';

/**
 * Appends in EventStoreDB's protocol: `BatchAppendReq` and `BatchAppendResp` of its `streams.proto`, with the field
 * numbers below. Written by hand for the same reason as reads.
 */

/** The answer to an append, identified by the number sent with it. */
export type AppendMessage =
  | { readonly number: number; readonly appended: Appended }
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
const readSuccess = (reader: Reader): Appended => {
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
  let appended: Appended | undefined;
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
export interface AppendPart {
  readonly number: number;
  readonly events: readonly EncodedEvent[];
  /** Only in the first part. */
  readonly to: { readonly stream: string; readonly expected: ExpectedRevision } | null;
  readonly isLast: boolean;
}

/** Upper bound for the fixed bytes of a message, and of an event in it, without their texts. */
const FIXED_BYTES_MAX = 200;
const UTF8_BYTES_MAX = 3;

const bytesMaxOf = ({ events, to }: AppendPart): number =>
  events.reduce(
    (sum, { id, type, bytes }) => sum + FIXED_BYTES_MAX + UTF8_BYTES_MAX * (id.length + type.length) + bytes,
    FIXED_BYTES_MAX + UTF8_BYTES_MAX * (to?.stream.length ?? 0),
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
