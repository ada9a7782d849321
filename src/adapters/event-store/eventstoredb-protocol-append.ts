import type { Appended } from '../../domain/ports/event-store.ts';
import { readOnlyText, readPosition, STREAM_NAME, UUID_TEXT } from './eventstoredb-protocol-read.ts';
import { bytesField, numberField, type Reader, readFields, readMessage, readNumber, textField } from './protobuf.ts';

/**
 * Appends in EventStoreDB's protocol: `BatchAppendReq` and `BatchAppendResp` of its `streams.proto`, whose field numbers
 * are those below. By hand for the reason that reads are.
 */

/** The answer to an append, by the number that was sent with it. */
export type AppendMessage =
  | { readonly number: number; readonly appended: Appended }
  /** The whole message, for the generated classes to read. */
  | { readonly number: number; readonly refusal: Uint8Array };

/** An event as it is sent; both parts are JSON. */
export interface EncodedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Buffer;
  readonly metadata: Buffer;
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

const entry = (key: string, value: string): Uint8Array =>
  Buffer.concat(bytesField(2, ...textField(1, key), ...textField(2, value)));

const CONTENT_TYPE = entry('content-type', 'application/json');
const typeEntries = new Map<string, Uint8Array>();

/** Made once for each of the types that there are. */
const typeEntry = (type: string): Uint8Array => {
  const made = typeEntries.get(type) ?? entry('type', type);
  typeEntries.set(type, made);
  return made;
};

const uuidField = (field: number, id: string): readonly Uint8Array[] => bytesField(field, ...textField(UUID_TEXT, id));

/** `BatchAppendReq.ProposedMessage` */
const proposedField = ({ id, type, data, metadata }: EncodedEvent): readonly Uint8Array[] =>
  bytesField(3, ...uuidField(1, id), typeEntry(type), CONTENT_TYPE, ...bytesField(3, metadata), ...bytesField(4, data));

/** `BatchAppendReq.Options`. No deadline: the protocol has it as a time of day, which another clock takes for another. */
const optionsField = (stream: string, expected: ExpectedRevision): readonly Uint8Array[] =>
  bytesField(
    2,
    ...bytesField(1, ...textField(STREAM_NAME, stream)),
    ...(expected === 'no-stream' ? bytesField(3) : [numberField(2, expected)]),
  );

const IS_FINAL = numberField(4, 1);

/** Some of an append: its events may travel in several messages. */
export interface AppendPart {
  readonly number: number;
  readonly events: readonly EncodedEvent[];
  /** Of the first part alone. */
  readonly to: { readonly stream: string; readonly expected: ExpectedRevision } | null;
  readonly isLast: boolean;
}

/** `BatchAppendReq` */
export const encodeAppend = ({ number, events, to, isLast }: AppendPart): Buffer =>
  Buffer.concat([
    ...uuidField(1, CORRELATION + number.toString(HEXADECIMAL).padStart(NUMBER_DIGITS, '0')),
    ...(to === null ? [] : optionsField(to.stream, to.expected)),
    ...events.flatMap(proposedField),
    ...(isLast ? [IS_FINAL] : []),
  ]);
