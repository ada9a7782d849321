import {
  type Logger,
  retryWhileAway,
  StartRefused,
  StoreUnavailable,
  type System,
  untilAborted,
} from '../async/async.ts';
import { canonicalJson } from '../transparency/transparency.ts';
import {
  AppendOutcomeUnknown,
  type ContextShape,
  type EventCodec,
  type EventShape,
  type EventStore,
  type Filter,
  type FollowedPage,
  isBesideMessages,
  LOG_START,
  type LogLook,
  type Page,
  type Position,
  type ReadAllOptions,
  WrongExpectedRevision,
} from './event-log.ts';
import { type AppendEvents, type ContentsStore, createAppendEvents, createAppending } from './eventstoredb-append.ts';
import { type Connection, connect, createRecovery, NoAnswer, type Recovery } from './eventstoredb-client.ts';
import { createReadAll, createTail, type Tail } from './eventstoredb-follow.ts';
import { bytesBetween } from './eventstoredb-protocol.ts';
import { createReader, LOG_ID_STREAM, matches, type Reader, recordedEvent } from './eventstoredb-read.ts';
import type { ConnectionSetting } from './eventstoredb-url.ts';

/**
 * The log in EventStoreDB or KurrentDB. `-client` opens calls and classifies their errors, `-protocol` encodes their
 * messages; `-append` writes; `-read` reads pages, and `-follow` searches for few categories and keeps the log's end,
 * received over one subscription, for all followers. This file opens the log and lets each follower read its pages.
 *
 * Repeated appends are recognized only by event ids: the same ids with other data are answered as a success, and the
 * data written first stays.
 */

/** Events in a page: held by a slow consumer, and handled by a fast one in one transaction. */
const PAGE_EVENTS_MAX = 500;
/** Bytes of the log in a page (positions count bytes). Without this limit, many large events would be held at once. */
const PAGE_BYTES_MAX = 1024 * 1024;
/** A follower of few categories that found nothing waits this long for more events, rather than read each alone. */
const VAIN_WAIT_MS = 20;

/** Kept events begin at an existing event. A node that has none up to there has not received it yet. */
const LAGGING = 'the node that answers lags behind the others';

interface SubscribeOptions {
  readonly connection: Pick<Connection, 'closing' | 'system'>;
  /** For followers behind the log's end: reads of everything must not delay selective reads. */
  readonly reader: Pick<Reader, 'after'>;
  /** For followers among them that exclude messages. */
  search(options: ReadAllOptions): Promise<Page>;
  readonly tail: Tail;
  readonly recovery: Recovery;
  readonly codec: EventCodec;
}

const asFollowed = (page: Page): FollowedPage => ({ ...page, isFull: page.events.length === PAGE_EVENTS_MAX });

/** Follows forever, each follower from its own position: from the shared tail, or by pages while behind it. */
export const createSubscribe = (options: SubscribeOptions): EventStore['subscribe'] => {
  const { reader, search, tail, recovery, codec } = options;
  const { system, closing } = options.connection;

  /** Searches for selective filters on the server. */
  const searchBehind = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage> => {
    const page = await search({ from, filter, limit: PAGE_EVENTS_MAX, signal });
    // An aborted search may have found nothing yet.
    if (page.position <= from && !signal.aborted) throw new NoAnswer(LAGGING);
    return asFollowed(page);
  };

  const readBehind = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage> => {
    if (isBesideMessages(filter)) return searchBehind(from, filter, signal);
    const found = await reader.after(from, PAGE_EVENTS_MAX, { bytesMax: PAGE_BYTES_MAX });
    const events = found.filter((event) => matches(filter, event)).map((event) => recordedEvent(codec, event));
    const [first, last] = [found[0], found.at(-1)];
    if (first === undefined || last === undefined) throw new NoAnswer(LAGGING);
    const isFull = found.length === PAGE_EVENTS_MAX || bytesBetween(first.position, last.position) >= PAGE_BYTES_MAX;
    return { events, position: last.position, isFull };
  };

  /** The next page. If nothing is available yet, an empty page at the same position. */
  const next = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage> => {
    const start = tail.start();
    if (start !== null && from < start) return readBehind(from, filter, signal);
    const page = tail.take(from, filter, PAGE_EVENTS_MAX);
    if (page !== null) return asFollowed(page);
    await untilAborted(signal, tail.more());
    return { events: [], position: from, isFull: false };
  };

  /** Like `next`, but recovers from a fault and returns null. @throws the fault if retrying is useless. */
  const steadfastNext = async (from: Position, filter: Filter, signal: AbortSignal): Promise<FollowedPage | null> => {
    try {
      return await next(from, filter, signal);
    } catch (error) {
      await recovery.recover(error, signal);
      return null;
    }
  };

  /** @throws {PositionNotInLog} if the log does not reach that far. */
  const requireReached = async (position: Position, signal: AbortSignal): Promise<void> => {
    // Every log has a beginning, and real servers never answer a read of zero events from there.
    for (let isReached = position === LOG_START || tail.holds(position); !isReached && !signal.aborted; ) {
      try {
        await reader.after(position, 0);
        isReached = true;
      } catch (error) {
        await recovery.recover(error, signal);
      }
    }
  };

  /** Waits after the second empty page in a row. */
  const createVainWait = (signal: AbortSignal): ((page: Page) => Promise<void>) => {
    let inVain = false;
    return async ({ events }) => {
      const isEmpty = events.length === 0;
      if (isEmpty && inVain) await system.sleep(VAIN_WAIT_MS, signal).catch(() => {}); // aborted
      inVain = isEmpty;
    };
  };

  async function* pages(after: Position, filter: Filter, signal: AbortSignal): AsyncGenerator<FollowedPage> {
    await requireReached(after, signal);
    const vainWait = createVainWait(signal);
    let position = after;
    while (!signal.aborted) {
      const page = await steadfastNext(position, filter, signal);
      if (page === null || page.position === position) continue;
      position = page.position;
      recovery.works();
      yield page; // handled once the consumer requests the next
      await vainWait(page);
    }
  }

  return async function* subscribe(after, filter, signal) {
    const leave = tail.join();
    try {
      yield* pages(after, filter, AbortSignal.any([signal, closing]));
    } finally {
      leave();
    }
  };
};

/**
 * Longest wait for one call. A busy server answers within tens of milliseconds. Shorter turns its bad moments into
 * errors, longer keeps callers of a dead server waiting.
 */
const CALL_TIMEOUT_MS = 5000;

interface EventStoreDbEventStoreOptions<E extends EventShape, C extends ContextShape, K> extends ConnectionSetting {
  readonly codec: EventCodec<E, C>;
  /** Store for the contents of an append, which are written before its events. */
  readonly contents: ContentsStore<K>;
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
export const createEventStoreDbEventStore = <E extends EventShape, C extends ContextShape, K>(
  options: EventStoreDbEventStoreOptions<E, C, K>,
): EventStore<E, C, K> => {
  const { codec, contents, system, logger, callTimeoutMs = CALL_TIMEOUT_MS } = options;
  const connection = connect(options, 'work', system, callTimeoutMs);
  // The log's end, which keys and followers are read from, has a connection of its own so that it never waits.
  const tailConnection = connect(options, 'tail', system, callTimeoutMs);
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
  const recovery = createRecovery({ system, server: connection.server, logger });
  const tail = createTail({ ...atTail, codec, recovery });
  const store: EventStore = {
    isAuthentic: codec.isAuthentic,
    seals: codec.seals,
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
  return store as EventStore<E, C, K>; // its events come from the codec
};

interface CheckEventStoreDbOptions extends Pick<ConnectionSetting, 'setting'> {
  readonly store: Pick<EventStore, 'logId'>;
  readonly system: System;
  readonly logger: Logger;
  readonly patienceMs?: number;
}

/**
 * Waits for the server and makes sure that it can be used, by asking for the log's id.
 * @throws {StartRefused} if it is down, rejects us, or does not meet our needs.
 */
export const checkEventStoreDb = async (options: CheckEventStoreDbOptions): Promise<void> => {
  const { store, setting, system, logger, patienceMs } = options;
  const onWait = (): void => logger.info({}, `waiting for the event store of ${setting}`);
  try {
    await retryWhileAway({ system, patienceMs, onWait }, store.logId);
  } catch (error) {
    throw new StartRefused(error instanceof Error ? error.message : String(error), { cause: error });
  }
};
