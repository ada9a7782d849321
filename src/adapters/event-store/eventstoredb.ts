import type { EventCodec } from '../../domain/codec.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import type { EventStore, Position } from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';
import { createAppend, createAppendEvents } from './eventstoredb-append.ts';
import { connect } from './eventstoredb-connection.ts';
import { createLogId } from './eventstoredb-log-id.ts';
import { createReader, type Reader } from './eventstoredb-read.ts';
import { createReadAll, isBesideMessages } from './eventstoredb-read-filtered.ts';
import { createRecovery } from './eventstoredb-recovery.ts';
import { createSubscribe } from './eventstoredb-subscribe.ts';
import { createTail } from './eventstoredb-tail.ts';

/**
 * Longest wait for one call. A busy server answers within tens of milliseconds; a shorter time makes its bad moments
 * ours, a longer one keeps callers of a dead server waiting.
 */
const CALL_TIME_OUT_MS = 5000;

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

/**
 * Looks at the head on behalf of all that ask while another look is under way: they share the next, which begins after
 * they asked.
 */
const shareHead = (reader: Reader): Reader => {
  let running: Promise<Position> | undefined;
  let next: Promise<Position> | undefined;
  const begin = (): Promise<Position> => {
    running = reader.head().finally(() => {
      running = undefined;
    });
    return running;
  };
  const follow = async (before: Promise<Position>): Promise<Position> => {
    await before.catch(() => {});
    next = undefined;
    return begin();
  };
  return {
    ...reader,
    head: () => {
      if (running === undefined) return begin();
      next ??= follow(running);
      return next;
    },
  };
};

/**
 * The log in EventStoreDB or KurrentDB. Repeated appends are told by event ids alone: the same ids with other data are
 * answered as a success, and the data first written stays.
 * @throws {StartRefused} where the connection string cannot be used.
 */
export const createEventStoreDbEventStore = (options: EventStoreDbEventStoreOptions): EventStore => {
  const { connectionString, codec, contents, system, logger, callTimeOutMs = CALL_TIME_OUT_MS } = options;
  const connection = connect(connectionString, 'work', system, callTimeOutMs);
  // What must not wait has a connection of its own: the log's end, which keys and followers are read from.
  const tailConnection = connect(connectionString, 'tail', system, callTimeOutMs);
  const reader = createReader(connection, codec);
  const tailReader = shareHead(createReader(tailConnection, codec));
  const appendEvents = createAppendEvents(connection);
  const { append, settled } = createAppend(connection, appendEvents, codec, contents);
  const atTail = { connection: tailConnection, reader: tailReader };
  const search = createReadAll({ ...atTail, codec });
  const readBulk = createReadAll({ connection, reader, codec });
  /** Those who want all of the log do not delay those who want the little beside it: keys, domains, webhooks. */
  const readPage: EventStore['readAll'] = (options) =>
    isBesideMessages(options.filter) ? search(options) : readBulk(options);
  const recovery = createRecovery(tailConnection, logger);
  const tail = createTail({ ...atTail, codec, recovery });
  return {
    ...createLogId(connection, appendEvents, tailReader),
    append,
    readStream: reader.readStream,
    readAll: async (options) => {
      const page = options.direction !== 'backwards' && options.limit > 0 ? await tail.page(options) : null;
      return page ?? readPage(options);
    },
    head: tailReader.head,
    subscribe: createSubscribe({ connection, reader, search, tail, recovery, codec }),
    close: async () => {
      await Promise.all([connection.close(settled), tailConnection.close(async () => {})]);
    },
  };
};
