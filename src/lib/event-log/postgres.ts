import { readFile } from 'node:fs/promises';
import { Client, type ClientBase, type ClientConfig, DatabaseError, Pool, type PoolClient, type PoolConfig } from 'pg';
import { type Logger, StoreUnavailable, type System } from '../async/async.ts';
import { KEEP_ALIVE_MS, PIN_ISOLATION } from '../postgres/postgres.ts';
import {
  type ContextShape,
  type EventCodec,
  type EventShape,
  type EventStore,
  type Filter,
  type FollowedPage,
  heldBytes,
  isBesideMessages,
  LOG_START,
  LogReplaced,
  type Page,
  type Position,
  passes,
  type ReadAllOptions,
  type RecordedEvent,
} from './event-log.ts';
import { APPENDS_IN_FLIGHT_MAX, type ContentsEncoder, createAppending, type WrittenEvents } from './postgres-append.ts';
import { compareColumns } from './postgres-check.ts';
import {
  asText,
  createStreamReading,
  readFailure,
  readPage,
  retryDelayMs,
  toHead,
  toPosition,
} from './postgres-read.ts';

export type { EncodedContents } from './postgres-append.ts';

/**
 * The log in PostgreSQL. `postgres.sql` holds its tables and the function that appends; `postgres-append.ts` groups
 * appends into commits, and `postgres-read.ts` reads streams and pages. This file opens the log and follows it:
 * followers read pages, share those near the head, and wait for notifications of appends between them.
 */

/** While notifications work, polling only catches missed ones: rare, and then up to a second late. */
const POLL_LISTENING_MS = 1000;
/** Without notifications, this is how stale followers may be, at four small queries a second for each. */
const POLL_DEAF_MS = 250;

interface WakeUps {
  /** Counts notifications. Call it before reading: `next` then does not wait if more have arrived since. */
  count(): number;
  /** Notifies of an append by this process. */
  wake(): void;
  /** Resolves when something was appended since `count`, on the next poll, or on abort. */
  next(since: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * Listens, on a connection of its own, for appends by other processes; appends by this one are reported with `wake`.
 * This only makes followers faster: they poll too, and nothing depends on a notification.
 * @param isOwn whether a server process, by its id, works for this process. Its appends are already known.
 */
const createWakeUps = (
  config: ClientConfig,
  isOwn: (processId: number) => boolean,
  { system, logger }: { readonly system: System; readonly logger: Logger },
): WakeUps => {
  const closing = new AbortController();
  const waiting = new Set<() => void>();
  let notifications = 0;
  let listening = false;
  let running: Promise<unknown> | undefined;

  /** Wakes one follower after another, so that each hands over its available events before the next one reads. */
  const wakeAll = (): void => {
    for (const one of waiting) setImmediate(one);
  };

  const wake = (): void => {
    notifications += 1;
    wakeAll();
  };

  /** One timer for all waiters. */
  const poll = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await system.sleep(listening ? POLL_LISTENING_MS : POLL_DEAF_MS, closing.signal).catch(() => {});
      wakeAll();
    }
  };

  /** Resolves when the connection is lost or no longer needed. */
  const listen = async (onListening: () => void): Promise<void> => {
    const client = new Client(config);
    const { promise: lost, resolve: end } = Promise.withResolvers<void>();
    const ended = (): void => end();
    client
      .on('end', ended)
      .on('error', ended)
      .on('notification', ({ processId }) => {
        if (!isOwn(processId)) wake();
      });
    closing.signal.addEventListener('abort', ended);
    try {
      await client.connect();
      await client.query('listen event_log');
      listening = true;
      onListening();
      wake(); // earlier appends are not notified any more
      await lost;
    } finally {
      listening = false;
      closing.signal.removeEventListener('abort', ended);
      client.end().catch(() => {});
    }
  };

  const listenOn = async (): Promise<void> => {
    for (let attempt = 0; !closing.signal.aborted; attempt += 1) {
      await listen(() => {
        attempt = 0;
      }).catch((error: unknown) => logger.debug({ err: error }, 'cannot listen to the log; polling it instead'));
      await system.sleep(retryDelayMs(system, attempt), closing.signal).catch(() => {});
    }
  };

  /** Waits until woken or aborted. */
  const wait = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      waiting.add(done);
      signal.addEventListener('abort', done);
    });

  return {
    count: () => notifications,
    wake,

    next: async (since, signal) => {
      running ??= Promise.all([listenOn(), poll()]);
      if (notifications !== since || signal.aborted) return;
      await wait(signal);
    },

    close: async () => {
      closing.abort();
      await running;
    },
  };
};

/** Events held by a slow consumer, and handled by a fast one in one transaction. Smaller costs round trips. */
const PAGE_EVENTS_MAX = 4000;
const PAGE_BYTES_MAX = 8_000_000;
const isFull = (events: readonly RecordedEvent[]): boolean =>
  events.length === PAGE_EVENTS_MAX || events.reduce((sum, event) => sum + heldBytes(event), 0) >= PAGE_BYTES_MAX;

/**
 * A follower of few categories is woken by every commit. After reading nothing it waits this long for more commits,
 * which limits it to some fifty queries a second and delays it by at most this time.
 */
const VAIN_WAIT_MS = 20;

interface SubscribeDependencies {
  readonly read: (request: ReadAllOptions) => Promise<Page>;
  readonly wakeUps: WakeUps;
  readonly system: System;
  readonly logger: Logger;
}

const untilAbort = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> => {
  promise.catch(() => {}); // nothing awaits it after an abort
  return new Promise((resolve, reject) => {
    const aborted = (): void => resolve(undefined);
    signal.addEventListener('abort', aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
};

/** Reads from a position. Returns an empty page at that position when aborted, or after a failed attempt. */
const steadfastRead = (
  { read, system, logger }: SubscribeDependencies,
  filter: Filter,
  signal: AbortSignal,
): ((from: Position) => Promise<Page>) => {
  let failures = 0;
  const failed = async (error: unknown): Promise<void> => {
    if (!(error instanceof StoreUnavailable) || error instanceof LogReplaced) throw error;
    if (failures === 0) logger.warn({ err: error }, 'lost the connection to the log: reconnecting');
    await system.sleep(retryDelayMs(system, failures), signal).catch(() => {});
    failures += 1;
  };
  return async (from) => {
    const nothing = { events: [], position: from };
    try {
      const request = { from, filter, limit: PAGE_EVENTS_MAX, bytesMax: PAGE_BYTES_MAX };
      const page = await untilAbort(read(request), signal);
      failures = 0;
      return page ?? nothing;
    } catch (error) {
      await failed(error);
      return nothing;
    }
  };
};

/** Waits after an empty page until another look is worthwhile. */
const createPause = (
  { wakeUps, system }: SubscribeDependencies,
  signal: AbortSignal,
): ((found: boolean, seen: number) => Promise<void>) => {
  let inVain = false;
  return async (found, seen) => {
    if (!found && inVain) await system.sleep(VAIN_WAIT_MS, signal).catch(() => {});
    if (!found) await wakeUps.next(seen, signal);
    inVain = !found;
  };
};

/** Follows the log page by page: reads, hands over, and waits if there was nothing to read. */
async function* followLog(
  dependencies: SubscribeDependencies,
  after: Position,
  filter: Filter,
  signal: AbortSignal,
): AsyncGenerator<FollowedPage, void, undefined> {
  const readFrom = steadfastRead(dependencies, filter, signal);
  const pause = createPause(dependencies, signal);
  let position = after;
  while (!signal.aborted) {
    const seen = dependencies.wakeUps.count();
    const page = await readFrom(position);
    const moved = page.position > position;
    position = page.position;
    if (moved) yield { ...page, isFull: isFull(page.events) };
    await pause(page.events.length > 0, seen);
  }
}

type ReadPage = (request: ReadAllOptions) => Promise<Page>;

/** Events kept, some 10 MB. Fewer force paused followers to read on their own, more is unused memory. */
const KEPT_EVENTS_MAX = 5_000;
/** The same in bytes, for large events. */
const KEPT_BYTES_MAX = 16_000_000;
/** Share of kept events dropped at a time. Each drop moves all remaining ones. */
const DROPPED_SHARE = 5;
/** Followers further ahead than this are not waited for: the others are behind, and read on their own. */
const AHEAD_EVENTS_MAX = 1_000;

const bytesOfAll = (events: readonly RecordedEvent[]): number =>
  events.reduce((bytes, event) => bytes + heldBytes(event), 0);

/** All events after `start`, up to and including `end`. */
interface EventWindow {
  start: Position;
  end: Position;
  bytes: number;
  readonly events: RecordedEvent[];
}

const isTooMuch = ({ events, bytes }: EventWindow): boolean =>
  events.length > 1 && (events.length > KEPT_EVENTS_MAX || bytes > KEPT_BYTES_MAX);

/** Index of the first event after a position. */
const indexAfter = (events: readonly RecordedEvent[], position: Position): number => {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.position ?? '') > position) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** Events that fit into a page. As in the log, the last one may exceed its byte limit. */
const fitting = (
  events: readonly RecordedEvent[],
  first: number,
  { limit, bytesMax = Number.POSITIVE_INFINITY }: ReadAllOptions,
): readonly RecordedEvent[] => {
  let [end, bytes] = [first, 0];
  for (; end < Math.min(events.length, first + limit) && bytes < bytesMax; end += 1) {
    const event = events[end];
    if (event !== undefined) bytes += heldBytes(event);
  }
  return events.slice(first, end);
};

/** Reads shared by followers near the head. */
export interface SharedReading {
  readonly read: ReadPage;
  /**
   * Adds events that this process has just appended. If they follow the kept events without a gap, they are never read
   * from the database. Positions have no gaps, so no event of another process lies in between.
   * @param decode is called only if they are kept.
   */
  take(first: Position, decode: () => readonly RecordedEvent[]): void;
}

/**
 * Reading for all of a process's followers that see messages. Near the head they share one query and one decoding of
 * each event, whatever their filters and speeds, and events of this process need neither. A follower that is behind, or
 * excludes messages, reads on its own.
 * @param read reads a page after a position, without a filter if it is shared.
 */
export const createSharedReading = (read: ReadPage): SharedReading => {
  /** null: no follower yet. */
  let kept: EventWindow | null = null;
  let fetching: { readonly from: Position; readonly done: Promise<void> } | null = null;

  const keep = (page: Page): void => {
    if (kept === null) return;
    const { events } = kept;
    for (const event of page.events) events.push(event);
    kept.bytes += bytesOfAll(page.events);
    kept.end = page.position;
    while (isTooMuch(kept)) {
      const dropped = events.splice(0, Math.ceil(events.length / DROPPED_SHARE));
      kept.bytes -= bytesOfAll(dropped);
      kept.start = dropped.at(-1)?.position ?? kept.start;
    }
  };

  const fetch = async (from: Position, { limit, bytesMax }: ReadAllOptions): Promise<void> => {
    const page = await read({ from, limit, ...(bytesMax !== undefined && { bytesMax }) });
    if (kept?.end === from) keep(page); // else everybody has gone on from elsewhere meanwhile
  };

  const fetchShared = (from: Position, request: ReadAllOptions): Promise<void> => {
    if (fetching?.from === from) return fetching.done;
    const done = fetch(from, request).finally(() => {
      if (fetching?.from === from) fetching = null;
    });
    fetching = { from, done };
    return done;
  };

  /** Fetches until there is an event after a position, or nothing more to fetch. */
  const fetchBeyond = async (from: Position, request: ReadAllOptions): Promise<void> => {
    for (let end = kept?.end; end !== undefined && end <= from; end = kept?.end) {
      await fetchShared(end, request);
      if (kept?.end === end) return;
    }
  };

  const join = (from: Position): void => {
    const isFarAhead = kept !== null && Number(from) - Number(kept.end) > AHEAD_EVENTS_MAX;
    if (kept === null || isFarAhead) kept = { start: from, end: from, bytes: 0, events: [] };
  };

  /** null: the events after the position are no longer kept. */
  const atHand = (from: Position, request: ReadAllOptions): Page | null => {
    if (kept === null || from < kept.start) return null;
    const following = indexAfter(kept.events, from);
    const seen = fitting(kept.events, following, request);
    const isAll = following + seen.length === kept.events.length;
    const reached = isAll ? kept.end : (seen.at(-1)?.position ?? from);
    return {
      events: seen.filter(({ stream }) => passes(request.filter, stream)),
      position: reached > from ? reached : from,
    };
  };

  return {
    read: async (request) => {
      if (isBesideMessages(request.filter)) return read(request);
      const { from = LOG_START } = request;
      join(from);
      await fetchBeyond(from, request);
      return atHand(from, request) ?? read(request);
    },
    take: (first, decode) => {
      if (kept === null || Number(first) !== Number(kept.end) + 1) return;
      const events = decode();
      keep({ events, position: events.at(-1)?.position ?? kept.end });
    },
  };
};

export interface PostgresEventStoreOptions<E extends EventShape, C extends ContextShape, K> {
  /** Database of the log. It is also the vault's: contents of an append go to `vault.contents` in the same commit. */
  readonly url: string;
  readonly codec: EventCodec<E, C>;
  readonly contentsCodec: ContentsEncoder<K>;
  readonly system: System;
  readonly logger: Logger;
  /** How long any call may take before the server is considered down. */
  readonly patienceMs?: number;
}

/** Shorter mistakes a busy server for a dead one; longer keeps requests waiting that could be retried. */
const PATIENCE_MS = 5000;
/** Concurrent reads of streams and pages by this process; more wait. Each is a server process of some 10 MB. */
const READ_CONNECTIONS_MAX = 6;
/** How long a quiet process keeps its prepared statements. */
const IDLE_MS = 60_000;

/**
 * Statements are prepared once per connection, perhaps while the log is still empty and a sequential scan looks cheap.
 * All of them are written to use an index. Planning each call would cost an append 100 us. With a generic plan, the
 * cost of a query without an index looks so high that it would be JIT-compiled, for 100 ms in each session.
 */
const PLAN_ONCE = `
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off;
  set enable_bitmapscan = off;
  set jit = off`;

/** SQLSTATE of a database without a log. */
const UNDEFINED_TABLE = '42P01';

/** The id of the existing log; null: no log. */
const idOn = async (db: Pick<ClientBase, 'query'> | Pick<Pool, 'query'>): Promise<string | null> => {
  try {
    const { rows } = await db.query<(string | null)[]>({ text: 'select id from event_log.log', rowMode: 'array' });
    return rows[0]?.[0] ?? null;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === UNDEFINED_TABLE) return null;
    throw error;
  }
};

const createSchema = async (pool: Pool): Promise<void> => {
  await pool.query(await readFile(new URL('./postgres.sql', import.meta.url), 'utf8'));
};

/** The server process of a connection, which identifies its notifications. The client's types do not expose it. */
const processIdOf = (client: PoolClient): number => (client as { readonly processID?: number }).processID ?? 0;

const positionAt = (number: number): Position => toPosition(String(number));

/** Opens the log in PostgreSQL, and creates it if it does not exist. @throws {StoreUnavailable} */
export const createPostgresEventStore = async <E extends EventShape, C extends ContextShape, K>(
  options: PostgresEventStoreOptions<E, C, K>,
): Promise<EventStore<E, C, K>> => {
  const { codec, contentsCodec, system, logger, patienceMs = PATIENCE_MS } = options;
  /** null: not known yet. */
  let logId: string | null = null;
  const config: PoolConfig = {
    connectionString: options.url,
    application_name: 'outbox event log',
    connectionTimeoutMillis: patienceMs,
    query_timeout: patienceMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: asText,
    idleTimeoutMillis: IDLE_MS,
    onConnect: async (client) => {
      await client.query(`${PIN_ISOLATION}; ${PLAN_ONCE}; set statement_timeout = ${patienceMs}`);
      // After a restart, another database may answer. Nothing must be read from it or appended to it.
      if (logId !== null && (await idOn(client)) !== logId) throw new LogReplaced('the log was replaced by another');
    },
  };

  const poolOf = (max: number): Pool => {
    const pool = new Pool({ ...config, max });
    // On a lost connection, the current call fails, the pool drops the connection, and the next call opens another one.
    const lost = (error: Error): void => logger.debug({ err: error }, 'a connection to the log was lost');
    pool.on('error', lost).on('connect', (client) => client.on('error', lost));
    return pool;
  };

  const appends = poolOf(APPENDS_IN_FLIGHT_MAX);
  const reads = poolOf(READ_CONNECTIONS_MAX);
  const closing = new AbortController();
  const appenders = new Set<number>();
  appends
    .on('connect', (client) => appenders.add(processIdOf(client)))
    .on('remove', (client) => appenders.delete(processIdOf(client)));
  const wakeUps = createWakeUps(config, (processId) => appenders.has(processId), { system, logger });
  const streams = createStreamReading(reads, codec, system, patienceMs);
  const read = (request: ReadAllOptions): ReturnType<typeof readPage> => readPage(reads, codec, request);
  const follow = createSharedReading(read);
  const onWritten = ({ stream, events, revision, position }: WrittenEvents): void =>
    follow.take(positionAt(position), () =>
      events.map((event, index) => ({
        ...codec.decode(event),
        stream,
        revision: revision + index,
        position: positionAt(position + index),
      })),
    );
  const listener = { onWritten, onCommit: wakeUps.wake };
  const appending = createAppending(appends, { codec, contentsCodec }, listener, { system, patienceMs });

  const one = async (text: string): Promise<string | null> => {
    try {
      const { rows } = await reads.query<(string | null)[]>({ text, rowMode: 'array' });
      return rows[0]?.[0] ?? null;
    } catch (error) {
      throw readFailure(error);
    }
  };

  const head = async (): Promise<Position> => {
    return toHead(await one('select event_log.head()'));
  };

  const readLogId = async (): Promise<string | null> => {
    try {
      return await idOn(reads);
    } catch (error) {
      if (error instanceof LogReplaced) return null;
      throw readFailure(error);
    }
  };

  const closeAll = async (): Promise<void> => {
    closing.abort();
    await Promise.all([appending.close(), streams.close(), wakeUps.close()]);
    await Promise.all([appends.end(), reads.end()]);
  };
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= closeAll();
    return closed;
  };

  try {
    await createSchema(appends);
  } catch (error) {
    await close();
    throw readFailure(error);
  }
  const ownId = (await readLogId()) ?? '';
  logId = ownId;

  const store: EventStore = {
    isAuthentic: codec.isAuthentic,
    seals: codec.seals,
    compareColumns: (part) => compareColumns(reads, part),
    logId: async () => ownId,
    look: async () => {
      const found = await readLogId();
      return { logId: found, head: found === ownId ? await head() : LOG_START };
    },
    append: appending.append,
    appendStored: appending.appendStored,
    readStream: streams.readStream,
    readAll: read,
    head,
    subscribe: (after, filter, signal) =>
      followLog(
        { read: follow.read, wakeUps, system, logger },
        after,
        filter,
        AbortSignal.any([signal, closing.signal]),
      ),
    close,
  };
  return store as EventStore<E, C, K>; // its events come from the codec
};
