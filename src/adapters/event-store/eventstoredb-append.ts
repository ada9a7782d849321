import { MaxAppendSizeExceededError, WrongExpectedVersionError } from '@eventstore/db-client';
// The client's own reading of a refusal.
import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js';
import type { BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import { type EventCodec, MalformedEvent } from '../../domain/codec.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import {
  type Append,
  type Appended,
  AppendOutcomeUnknown,
  type NewEvent,
  StoreUnavailable,
  type StreamName,
  WrongExpectedRevision,
} from '../../domain/ports/event-store.ts';
import { CallEnded, createAppendCall, type EncodedEvent, type ExpectedRevision } from './eventstoredb-append-call.ts';
import type { Connection } from './eventstoredb-connection.ts';
import { isNotWritten, isTransient, sentenceOf } from './eventstoredb-faults.ts';
import { formatPosition } from './eventstoredb-position.ts';

/** Revision of the server's answer as ours. */
const revisionOf = (version: unknown): ExpectedRevision =>
  typeof version === 'bigint' ? Number(version) : 'no-stream';

const faultOf = (error: unknown, stream: StreamName, expected: ExpectedRevision, hosts: string): unknown => {
  if (error instanceof WrongExpectedVersionError) {
    return new WrongExpectedRevision(stream, expected, revisionOf(error.actualVersion));
  }
  if (error instanceof MaxAppendSizeExceededError) {
    return new RangeError(`an append to ${stream} is larger than the server allows (${error.maxAppendSize} bytes)`);
  }
  const sentence = sentenceOf(error, hosts);
  if (isNotWritten(error)) return new StoreUnavailable(sentence, { cause: error });
  return error instanceof CallEnded || isTransient(error)
    ? new AppendOutcomeUnknown(sentence, { cause: error })
    : new Error(`append to ${stream}: ${sentence}`, { cause: error });
};

/** @throws what the server refused with, as the client's errors tell it. */
const appended = (answer: BatchAppendResp, stream: StreamName): Appended => {
  const refusal = answer.getError();
  if (refusal !== undefined) throw unpackToCommandError(refusal, stream);
  const success = answer.getSuccess();
  const position = success?.getPosition();
  if (success === undefined || position === undefined) {
    throw new Error('the event store answered an append without its position');
  }
  return {
    revision: Number(success.getCurrentRevision()),
    position: formatPosition({
      commit: BigInt(position.getCommitPosition()),
      prepare: BigInt(position.getPreparePosition()),
    }),
  };
};

/** @throws {WrongExpectedRevision} @throws {AppendOutcomeUnknown} @throws {StoreUnavailable} */
export type AppendEvents = (
  stream: StreamName,
  expected: ExpectedRevision,
  events: readonly EncodedEvent[],
) => Promise<Appended>;

/** Appends in the order in which it is called. */
export const createAppendEvents = (connection: Connection): AppendEvents => {
  const { appendSlots, hosts } = connection;
  const call = createAppendCall(connection);
  return async (stream, expected, events) => {
    let begun = false;
    try {
      return await appendSlots.run(async () => {
        begun = true;
        return appended(await call.send(stream, expected, events), stream);
      });
    } catch (error) {
      if (!begun) throw new StoreUnavailable('too many appends wait for the event store', { cause: error });
      throw faultOf(error, stream, expected, hosts);
    }
  };
};

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value), 'utf8');

/** As the client would send it. */
export const encodeEvent = (id: string, type: string, data: unknown, metadata: object): EncodedEvent => {
  if (data === undefined) throw new MalformedEvent(`${type}: no data`);
  return { id, type, data: json(data), metadata: json(metadata) };
};

const encode = (codec: EventCodec, event: NewEvent, context: Append['context']): EncodedEvent => {
  const { type, data, schemaVersion } = codec.encode(event);
  return encodeEvent(event.id, type, data, { ...context, schemaVersion });
};

export const createAppend = (
  { assertOpen }: Pick<Connection, 'assertOpen'>,
  appendEvents: AppendEvents,
  codec: EventCodec,
  contents: Contents,
): { append(append: Append): Promise<Appended>; settled(): Promise<void> } => {
  const inHand = new Set<Promise<unknown>>();

  const append = async ({ stream, expected, events, context, contents: some = [] }: Append): Promise<Appended> => {
    assertOpen();
    if (events.length === 0) throw new RangeError(`an append of no events to ${stream}`);
    const encoded = events.map((event) => encode(codec, event, context));
    if (some.length > 0) await contents.put(some);
    return appendEvents(stream, expected, encoded);
  };

  return {
    append: (one) => {
      const appending = append(one);
      const ended: Promise<unknown> = appending.catch(() => {}).finally(() => inHand.delete(ended));
      inHand.add(ended);
      return appending;
    },
    settled: async () => {
      await Promise.all(inHand);
    },
  };
};
