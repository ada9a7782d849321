import type { EventCodec } from '../../domain/kernel/codec.ts';
import {
  AppendOutcomeUnknown,
  type EventStore,
  LOG_START,
  type LogLook,
  type Position,
  WrongExpectedRevision,
} from '../../domain/kernel/event-store.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import { type Logger, retryWhileAway, StartRefused, StoreUnavailable, type System } from '../../lib/async/async.ts';
import { canonicalJson } from '../../lib/transparency/transparency.ts';
import { type AppendEvents, createAppendEvents, createAppending } from './eventstoredb-append.ts';
import { connect } from './eventstoredb-client.ts';
import { createRecovery } from './eventstoredb-faults.ts';
import { createReader, type Reader } from './eventstoredb-read.ts';
import { LOG_ID_STREAM } from './eventstoredb-records.ts';
import { createReadAll, isBesideMessages } from './eventstoredb-search.ts';
import { createSubscribe } from './eventstoredb-subscribe.ts';
import { createTail } from './eventstoredb-tail.ts';

/**
 * The log in EventStoreDB or KurrentDB, in this order: `-client` opens calls, whose messages are in `-protocol-*`;
 * `-append` and `-append-lane` write; `-read` reads pages, and `-search` those of few categories; `-tail` keeps the
 * log's end, received over one subscription (`-feed`), for all followers (`-subscribe`). `-faults` classifies errors.
 *
 * Repeated appends are recognized only by event ids: the same ids with other data are answered as a success, and the
 * data written first stays.
 */

/**
 * Longest wait for one call. A busy server answers within tens of milliseconds. Shorter turns its bad moments into
 * errors, longer keeps callers of a dead server waiting.
 */
const CALL_TIMEOUT_MS = 5000;

export interface EventStoreDbEventStoreOptions {
  /** `esdb://…`, in the client's format. */
  readonly connectionString: string;
  readonly codec: EventCodec;
  /** Store for the contents of an append, which are written before its events. */
  readonly contents: Contents;
  readonly system: System;
  readonly logger: Logger;
  readonly callTimeoutMs?: number;
}

/**
 * Reads the head on behalf of all callers that ask while another read is in progress. They share the next read, which
 * begins after they asked.
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

const readLogId = async (reader: Reader): Promise<string | null> => {
  const [identity] = await reader.rawStream(LOG_ID_STREAM);
  if (identity === undefined) return null;
  const { logId }: { readonly logId?: unknown } = JSON.parse(identity.data);
  if (typeof logId === 'string') return logId;
  throw new Error(`the stream ${LOG_ID_STREAM} holds no id of this log`);
};

/** Reading after a lost race needs two rounds; a third is for an unknown outcome. */
const ROUNDS_MAX = 3;

/** The id in the log's own stream, written by the first process. The server allows only one to begin a stream. */
const createLogId = (system: System, appendEvents: AppendEvents, reader: Reader): (() => Promise<string>) => {
  const write = async (): Promise<void> => {
    const data = canonicalJson({ logId: system.uuid() });
    const event = { id: system.uuid(), type: 'LogIdentified', data, metadata: '{}', bytes: data.length + 2 };
    try {
      await appendEvents(LOG_ID_STREAM, 'no-stream', [event]);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision || error instanceof AppendOutcomeUnknown)) throw error;
    }
  };
  const find = async (): Promise<string> => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const id = await readLogId(reader);
      if (id !== null) return id;
      await write();
    }
    throw new StoreUnavailable(`the stream ${LOG_ID_STREAM} could not be written`);
  };
  let found: Promise<string> | undefined;
  return () => {
    found ??= find();
    found.catch(() => {
      found = undefined; // asked again next time
    });
    return found;
  };
};

/** @throws {StartRefused} if the connection string cannot be used. */
export const createEventStoreDbEventStore = (options: EventStoreDbEventStoreOptions): EventStore => {
  const { connectionString, codec, contents, system, logger, callTimeoutMs = CALL_TIMEOUT_MS } = options;
  const connection = connect(connectionString, 'work', system, callTimeoutMs);
  // The log's end, which keys and followers are read from, has a connection of its own so that it never waits.
  const tailConnection = connect(connectionString, 'tail', system, callTimeoutMs);
  const reader = createReader(connection, codec);
  // Head reads use the connection of appends, and skip the reads queued there.
  const lookReader = createReader(connection, codec);
  const tailReader = shareHead(createReader(tailConnection, codec));
  const appendEvents = createAppendEvents(connection);
  const { append, appendStored, settled } = createAppending(connection, appendEvents, codec, contents);
  const atTail = { connection: tailConnection, reader: tailReader };
  const search = createReadAll({ ...atTail, codec });
  const readBulk = createReadAll({ connection, reader, codec });
  /** Reads of the whole log must not delay reads without messages: keys, domains, webhooks. */
  const readPage: EventStore['readAll'] = (options) =>
    isBesideMessages(options.filter) ? search(options) : readBulk(options);
  const recovery = createRecovery({ system, hosts: connection.hosts, logger });
  const tail = createTail({ ...atTail, codec, recovery });
  return {
    logId: createLogId(system, appendEvents, tailReader),
    look: async (): Promise<LogLook> => {
      const found = await readLogId(lookReader);
      return { logId: found, head: found === null ? LOG_START : await lookReader.head() };
    },
    append,
    appendStored,
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

export interface CheckEventStoreDbOptions {
  readonly store: Pick<EventStore, 'logId'>;
  readonly system: System;
  readonly logger: Logger;
  readonly patienceMs?: number;
}

/**
 * Waits for the server of `EVENTSTORE_URL` and makes sure that it can be used, by asking for the log's id.
 * @throws {StartRefused} if it is down, rejects us, or does not meet our needs.
 */
export const checkEventStoreDb = async (options: CheckEventStoreDbOptions): Promise<void> => {
  const { store, system, logger, patienceMs } = options;
  const onWait = (): void => logger.info({}, 'waiting for the event store of EVENTSTORE_URL');
  try {
    await retryWhileAway({ system, patienceMs, onWait }, store.logId);
  } catch (error) {
    throw new StartRefused(error instanceof Error ? error.message : String(error), { cause: error });
  }
};
