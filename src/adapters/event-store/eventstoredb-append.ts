import {
  type AppendExpectedRevision,
  type AppendResult,
  type EventData,
  type JSONType,
  jsonEvent,
  MaxAppendSizeExceededError,
  NO_STREAM,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
// The one way to append without the batches: see `appendEvents`.
import { append as appendInOwnCall } from '@eventstore/db-client/dist/streams/appendToStream/append.js';
import { type EventCodec, MalformedEvent } from '../../domain/codec.ts';
import type { Contents } from '../../domain/contents.ts';
import {
  type Append,
  type Appended,
  AppendOutcomeUnknown,
  type NewEvent,
  StoreUnavailable,
  type StreamName,
  WrongExpectedRevision,
} from '../../domain/event-store.ts';
import type { Connection } from './eventstoredb-connection.ts';
import { isNotWritten, isTransient, sentenceOf } from './eventstoredb-faults.ts';
import { formatPosition } from './eventstoredb-position.ts';
import { withTimeOut } from './eventstoredb-time-out.ts';

const APPEND_OPTIONS = {
  requiresLeader: true,
  throwOnAppendFailure: true, // without it the client answers wrong revisions
  batchAppendSize: 0, // asked for by the types; used by batches alone
};

export type ExpectedRevision = Append['expected'];

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
  return isTransient(error)
    ? new AppendOutcomeUnknown(sentence, { cause: error })
    : new Error(`append to ${stream}: ${sentence}`, { cause: error });
};

const appended = ({ nextExpectedRevision, position }: AppendResult): Appended => {
  if (position === undefined) throw new Error('the event store answered an append without its position');
  return { revision: Number(nextExpectedRevision), position: formatPosition(position) };
};

/**
 * Appends in a call of its own. The client's default is to send all appends of the process through one call, which is
 * about twice as quick, but keeps them in a map that clients share: one lost connection rejects the others' appends,
 * late answers then end the process, and no deadline is enforced.
 * @throws {WrongExpectedRevision} @throws {AppendOutcomeUnknown} @throws {StoreUnavailable}
 */
export const appendEvents = async (
  { client, hosts, slots, timeOut }: Connection,
  stream: StreamName,
  expected: ExpectedRevision,
  events: readonly EventData[],
): Promise<Appended> => {
  let begun = false;
  try {
    return await slots(async () => {
      begun = true;
      const expectedRevision: AppendExpectedRevision = expected === 'no-stream' ? NO_STREAM : BigInt(expected);
      const options = { ...APPEND_OPTIONS, expectedRevision, deadline: timeOut.ms };
      return appended(await withTimeOut(timeOut, appendInOwnCall.call(client, stream, [...events], options)));
    });
  } catch (error) {
    if (!begun) throw new StoreUnavailable('too many appends wait for the event store', { cause: error });
    throw faultOf(error, stream, expected, hosts);
  }
};

const eventData = (codec: EventCodec, event: NewEvent, context: Append['context']): EventData => {
  const { type, data, schemaVersion } = codec.encode(event);
  // The client throws where nobody can catch it when it is given no data: the process would end.
  if (data === undefined) throw new MalformedEvent(`${type}: no data`);
  return jsonEvent({ id: event.id, type, data: data as JSONType, metadata: { ...context, schemaVersion } });
};

export const createAppend = (
  connection: Connection,
  codec: EventCodec,
  contents: Contents,
): { append(append: Append): Promise<Appended>; settled(): Promise<void> } => {
  const inHand = new Set<Promise<unknown>>();

  const append = async ({ stream, expected, events, context, contents: some = [] }: Append): Promise<Appended> => {
    connection.assertOpen();
    if (events.length === 0) throw new RangeError(`an append of no events to ${stream}`);
    const encoded = events.map((event) => eventData(codec, event, context));
    if (some.length > 0) await contents.put(some);
    return appendEvents(connection, stream, expected, encoded);
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
