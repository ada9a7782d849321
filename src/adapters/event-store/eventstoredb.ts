import type { EventCodec } from '../../domain/codec.ts';
import type { Contents } from '../../domain/contents.ts';
import type { EventStore, Position } from '../../domain/event-store.ts';
import type { Logger } from '../../domain/logger.ts';
import type { System } from '../../domain/system.ts';
import { createAppend } from './eventstoredb-append.ts';
import { connect } from './eventstoredb-connection.ts';
import { createLogId } from './eventstoredb-log-id.ts';
import { createReader, type Reader } from './eventstoredb-read.ts';
import { createReadAll } from './eventstoredb-read-filtered.ts';
import { createSubscribe } from './eventstoredb-subscribe.ts';

/**
 * Longest wait for one call. A busy server answers within tens of milliseconds; a shorter time makes its bad moments
 * ours, a longer one keeps callers of a dead server waiting.
 */
const CALL_TIME_OUT_MS = 5000;
/** Age up to which followers share one look at the head, so that idle ones together cost few reads. */
const HEAD_MS_MAX = 50;

export interface EventStoreDbEventStoreOptions {
  /** `esdb://…`, as the client takes it. */
  readonly connectionString: string;
  readonly codec: EventCodec;
  /** Where the contents of an append are put before its events. */
  readonly contents: Contents;
  readonly system: System;
  readonly logger: Logger;
  readonly callTimeOutMs?: number;
}

/** Looks at the head on behalf of all that ask within a moment. */
const createRecentHead = (reader: Reader, system: Pick<System, 'monotonicMs'>): (() => Promise<Position>) => {
  let head: Promise<Position> | undefined;
  let lookedAt = 0;
  return () => {
    const now = system.monotonicMs();
    if (head === undefined || now - lookedAt > HEAD_MS_MAX) {
      head = reader.head();
      lookedAt = now;
    }
    return head;
  };
};

/**
 * The log in EventStoreDB or KurrentDB. Repeated appends are told by event ids alone: the same ids with other data are
 * answered as a success, and the data first written stays.
 * @throws {StartRefused} where the connection string cannot be used.
 */
export const createEventStoreDbEventStore = (options: EventStoreDbEventStoreOptions): EventStore => {
  const { connectionString, codec, contents, system, logger, callTimeOutMs = CALL_TIME_OUT_MS } = options;
  const connection = connect(connectionString, system, callTimeOutMs);
  const reader = createReader(connection, codec);
  const { append, settled } = createAppend(connection, codec, contents);
  const followed = { connection, reader, codec, recentHead: createRecentHead(reader, system) };
  return {
    logId: createLogId(connection, reader),
    append,
    readStream: reader.readStream,
    readAll: createReadAll(followed),
    head: reader.head,
    subscribe: createSubscribe(followed, logger),
    close: () => connection.close(settled),
  };
};
