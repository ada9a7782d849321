import { MaxAppendSizeExceededError, WrongExpectedVersionError } from '@eventstore/db-client';
// The client's own parser for a rejected append.
import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { EventCodec } from '../../domain/kernel/codec.ts';
import {
  type Append,
  type Appended,
  AppendOutcomeUnknown,
  type StoredAppend,
  type StoredEvent,
  type StreamName,
  WrongExpectedRevision,
} from '../../domain/kernel/event-store.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import { StoreUnavailable } from '../../lib/async/async.ts';
import { type AppendLane, createAppendLane } from './eventstoredb-append-lane.ts';
import type { Connection } from './eventstoredb-client.ts';
import { CallEnded, isNotWritten, isTransient, NotSent, sentenceOf } from './eventstoredb-faults.ts';
import type { EncodedEvent, ExpectedRevision } from './eventstoredb-protocol-append.ts';

/** Appends to EventStoreDB: encodes an append of the port, sends it on one of two lanes, and translates a rejection. */

/**
 * Ordinary appends in flight. More queue in the server, and delay urgent ones if it processes a connection one by one;
 * fewer make smaller groups of everything: 64 cost a process short of processor time 40 % of its deliveries.
 */
const ORDINARY_MAX = 256;
/** Urgent appends in flight. They are few: outcomes that are not recorded yet are bounded at their source. */
const URGENT_MAX = 256;

/** Converts a revision in the server's answer. */
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
  if (error instanceof NotSent || isNotWritten(error)) return new StoreUnavailable(sentence, { cause: error });
  return error instanceof CallEnded || isTransient(error)
    ? new AppendOutcomeUnknown(sentence, { cause: error })
    : new Error(`append to ${stream}: ${sentence}`, { cause: error });
};

const refusalOf = (bytes: Uint8Array, stream: StreamName): Error => {
  const refusal = streams.BatchAppendResp.deserializeBinary(bytes).getError();
  if (refusal === undefined) return new Error('the event store answered an append with neither success nor refusal');
  return unpackToCommandError(refusal, stream);
};

/** @throws {WrongExpectedRevision} @throws {AppendOutcomeUnknown} @throws {StoreUnavailable} */
export type AppendEvents = (
  stream: StreamName,
  expected: ExpectedRevision,
  events: readonly EncodedEvent[],
  isUrgent?: boolean,
) => Promise<Appended>;

/** Keeps the call order of ordinary appends, and separately that of urgent ones. */
export const createAppendEvents = (connection: Connection): AppendEvents => {
  const ordinary: AppendLane = createAppendLane(connection, ORDINARY_MAX);
  const urgent: AppendLane = createAppendLane(connection, URGENT_MAX);
  return async (stream, expected, events, isUrgent = false) => {
    try {
      const answer = await (isUrgent ? urgent : ordinary).send(stream, expected, events);
      if ('appended' in answer) return answer.appended;
      throw refusalOf(answer.refusal, stream);
    } catch (error) {
      throw faultOf(error, stream, expected, connection.hosts);
    }
  };
};

const sized = (events: readonly StoredEvent[]): readonly EncodedEvent[] =>
  events.map((event) => ({ ...event, bytes: Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata) }));

export interface Appending {
  append(append: Append): Promise<Appended>;
  appendStored(append: StoredAppend): Promise<Appended>;
  /** Resolves once no append is in flight. */
  settled(): Promise<void>;
}

export const createAppending = (
  { assertOpen }: Pick<Connection, 'assertOpen'>,
  appendEvents: AppendEvents,
  codec: EventCodec,
  contents: Contents,
): Appending => {
  const inFlight = new Set<Promise<unknown>>();

  const append = async (one: Append): Promise<Appended> => {
    const { events, context, contents: personal = [] } = one;
    assertOpen();
    const stored = codec.encode(events, context);
    if (personal.length > 0) await contents.put(personal);
    return appendStored({ ...one, events: stored });
  };

  const appendStored = async (one: StoredAppend & Pick<Append, 'isUrgent'>): Promise<Appended> => {
    const { stream, expected, events, isUrgent = false } = one;
    assertOpen();
    if (events.length === 0) throw new RangeError(`an append of no events to ${stream}`);
    return appendEvents(stream, expected, sized(events), isUrgent);
  };

  const tracked = (appending: Promise<Appended>): Promise<Appended> => {
    const forget = (): void => {
      inFlight.delete(appending);
    };
    inFlight.add(appending);
    appending.then(forget, forget);
    return appending;
  };

  return {
    append: (one) => tracked(append(one)),
    appendStored: (one) => tracked(appendStored(one)),
    settled: async () => {
      await Promise.allSettled(inFlight);
    },
  };
};
