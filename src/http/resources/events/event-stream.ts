import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { createSemaphore, createShares, type Place, pause } from '../../../lib/async/async.ts';
import { acceptedIn } from '../../../lib/http/http.ts';
import { type FeedCursor, isAfter } from '../../../projections/events/queries.ts';
import type { KeyCache } from '../../auth/key-cache.ts';
import { maskContents, seesContents } from '../../auth/permissions.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import type { Call, RouteContext } from '../../endpoint.ts';
import {
  decodeFeedCursor,
  domainToRead,
  type EventFilters,
  encodeFeedCursor,
  furtherFilter,
  readEventPage,
} from './event-pages.ts';
import { endOf, type LiveEvent, type LiveFeed, type Watch } from './live-feed.ts';

/** Frames of an event stream (WHATWG HTML §9.2). */

const frameOf = (cursor: FeedCursor, type: string, json: string): string =>
  `id: ${encodeFeedCursor(cursor)}\nevent: ${type}\ndata: ${json}\n\n`;

const liveFrames = new WeakMap<LiveEvent, string>();

/** Made once for all streams. */
const liveFrameOf = (live: LiveEvent): string => {
  const frame = liveFrames.get(live) ?? frameOf(live.event.cursor, live.event.type, live.json);
  liveFrames.set(live, frame);
  return frame;
};

/** The event's frame, masked as the caller's permissions require. */
const liveFrameFor = (caller: Caller, live: LiveEvent): string =>
  seesContents(caller)
    ? liveFrameOf(live)
    : frameOf(live.event.cursor, live.event.type, JSON.stringify(maskContents(live.serialized)));

/** The same of an event of the read model. */
const storedFrameFor = (
  caller: Caller,
  { cursor, event }: { readonly cursor: FeedCursor; readonly event: { readonly type: string } },
): string => frameOf(cursor, event.type, JSON.stringify(seesContents(caller) ? event : maskContents(event)));

/** Says where the stream begins: a reader that is cut off before the first event resumes from there. */
const beginFrame = (reconnectMs: number, cursor: FeedCursor): string =>
  `retry: ${reconnectMs}\nid: ${encodeFeedCursor(cursor)}\n\n`;

/** Moves the reader's `Last-Event-ID` on without an event, so that a stream whose filter is rare resumes cheaply. */
const heartbeatOf = (cursor: FeedCursor): string => `: still here\nid: ${encodeFeedCursor(cursor)}\n\n`;

const endFrame = (reason: string, cursor: FeedCursor): string =>
  `event: end\ndata: ${JSON.stringify({ reason, next_cursor: encodeFeedCursor(cursor) })}\n\n`;

/** Bounds of those who wait for events, by streams and by long polls, with a share for each organization and key. */

/** Open streams and long polls of a process, some 45 kB each. Higher: memory. Lower: readers are refused. */
export const READERS_MAX = 4_000;
/** Higher: fewer organizations fill the memory. Lower: a busy dashboard loses its streams. */
export const READERS_PER_ORGANIZATION_MAX = 2_000;
/** For one key or session. Higher: a faulty client uses up its organization's share. Lower: a large client is refused. */
export const READERS_PER_KEY_MAX = 1_000;
/** Readers that query the read model at once. Higher: fewer connections for other requests. Lower: streams catch up later. */
export const CATCHING_UP_MAX = 4;

const RETRY_AFTER_SECONDS = 60;

interface EventReaders {
  /**
   * Follows the events of the caller's organization until `close`.
   * @param wake called when there may be something new, when a key or session was changed, and every 15 s.
   * @throws {DomainError} `rate_limit_exceeded`: the share is used up; `unavailable`: there are too many in all.
   */
  watch(caller: Pick<Caller, 'organizationId' | 'keyId'>, wake: () => void): Promise<Watch>;
  /** Queries when the organization's turn comes. */
  query<Result>(organizationId: string, work: () => Promise<Result>): Promise<Result>;
}

export const createEventReaders = (
  liveFeed: Pick<LiveFeed, 'watch' | 'wake'>,
  keyCache: Pick<KeyCache, 'onChange'>,
): EventReaders => {
  keyCache.onChange(liveFeed.wake);
  const places = createShares({
    max: READERS_MAX,
    shares: { organization: READERS_PER_ORGANIZATION_MAX, key: READERS_PER_KEY_MAX },
  });
  const queries = createSemaphore({ capacity: CATCHING_UP_MAX });

  const enter = ({ organizationId, keyId }: Pick<Caller, 'organizationId' | 'keyId'>): Place => {
    const place = places.take({ organization: organizationId, key: keyId });
    if (!('full' in place)) return place;
    const again = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    if (place.full === 'all')
      throw new DomainError('unavailable', 'the service has too many open event streams: try again later', again);
    throw new DomainError(
      'rate_limit_exceeded',
      `this ${place.full} has too many open event streams and waiting requests: close some, or share one stream`,
      again,
    );
  };

  return {
    watch: async (caller, wake) => {
      const place = enter(caller);
      try {
        const watch = await liveFeed.watch(caller.organizationId, wake);
        const close = (): void => {
          watch.close();
          place.release();
        };
        return { ...watch, close };
      } catch (error) {
        place.release();
        throw error;
      }
    },
    query: (organizationId, work) => queries.run(work, 1, organizationId),
  };
};

/**
 * Calls back when the client closes its side of the connection while its answer has not ended. Half-closing alone does not
 * cancel a request, and readers of events go away by it: an answer that waits for events looks out for it.
 */
export const onHalfClose = (
  { raw: { socket } }: { readonly raw: IncomingMessage },
  { raw: response }: { readonly raw: ServerResponse },
  closed: () => void,
): void => {
  if (socket.readableEnded) closed();
  socket.once('end', closed);
  response.once('close', () => socket.removeListener('end', closed));
};

/**
 * The feed as server-sent events (WHATWG HTML §9.2). A stream keeps one cursor. It takes what comes after it from the live
 * feed, which costs no query, or from the read model while it is behind. Nothing is buffered for a reader but one batch:
 * while its connection takes no more, its cursor stays.
 */

const PAGE_EVENTS = 100;
/** Shorter: readers that pause are disconnected. Longer: memory is held for readers that have left. */
const STALLED_MS_MAX = 60_000;
const RETRY_MS = 1_000;
/** A key or session that expires within it has a timer. At least as long as the live feed lets streams sleep. */
const END_NOTICED_MS = 16_000;
/** Timers may fire that much too early. */
const EARLY_MS = 5;
/** Many proxies cut connections that are idle for 30 s. The live feed wakes streams every 15 s. */
const HEARTBEAT_MS = 14_000;
/** Buffer per reader in this process, in addition to the socket's own buffer and one batch. */
const BUFFERED_BYTES_MAX = 16_384;
/** Delay that clients must wait before they reconnect (`retry`). */
const RECONNECT_MS = 2_000;

export const EVENT_STREAM = 'text/event-stream';

/** Not for HEAD, which would open a stream and read nothing. */
export const isEventStreamRequest = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && acceptedIn(headers.accept).includes(EVENT_STREAM);

/** Whether a live event is one of the stream's. */
const isWanted = (caller: Caller, filters: EventFilters) => {
  const domainId = domainToRead(caller, filters.domain_id);
  const types = filters.types === undefined ? null : new Set<string>(filters.types);
  const matches = furtherFilter(filters);
  return ({ event, serialized }: LiveEvent): boolean =>
    (event.environment === null || event.environment === caller.environment) &&
    (domainId === null || event.domainId === domainId) &&
    (types === null || types.has(event.type)) &&
    (matches === null || matches(serialized));
};

interface Batch {
  /** Frames of its events; empty: none. */
  readonly text: string;
  readonly next: FeedCursor;
  readonly hasMore: boolean;
}

/** One page of the read model. Behind the last one the stream has seen all of the log up to its head. */
const readBehind = async (
  { deps, readers }: Pick<StreamContext, 'deps' | 'readers'>,
  by: { readonly caller: Caller; readonly filters: EventFilters; readonly after: FeedCursor | null },
): Promise<Batch> => {
  const page = await readers.query(by.caller.organizationId, () => readEventPage(deps, { ...by, limit: PAGE_EVENTS }));
  const end = endOf(page.head);
  const frames = page.items.map((item) => storedFrameFor(by.caller, item));
  const next = page.hasMore || !isAfter(end, page.next) ? page.next : end;
  return { text: frames.join(''), next, hasMore: page.hasMore };
};

const lastEventId = ({ headers }: FastifyRequest): string | undefined => {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
};

interface StreamContext extends Pick<RouteContext, 'deps' | 'closing'> {
  readonly readers: EventReaders;
}

type StreamCall = Call<unknown, EventFilters & { readonly after?: string | undefined }>;

/** Progress of a stream. */
interface Reader {
  /** Everything up to here has been sent. */
  cursor(): FeedCursor;
  /** Moves on. @returns frames; null: not just now. @throws {DomainError} the key no longer works. */
  next(): Promise<string | null>;
  /** More can be read at once. */
  hasMore(): boolean;
}

/** Reads the first page before anything is answered, so that a bad cursor is a 400. */
const openReader = async (context: StreamContext, call: StreamCall, watch: Watch): Promise<Reader> => {
  const { deps } = context;
  const { callerNow, query: filters, request } = call;
  const asked = decodeFeedCursor(lastEventId(request) ?? filters.after);
  let cursor = asked ?? endOf(await deps.context.store.head());
  let batch: Batch | null = null;
  let hasMore = false;

  const readLive = (caller: Caller): Batch | null => {
    const live = watch.after(cursor);
    if (live === null) return null;
    return {
      text: live.events
        .filter(isWanted(caller, filters))
        .map((live) => liveFrameFor(caller, live))
        .join(''),
      next: isAfter(live.end, cursor) ? live.end : cursor,
      hasMore: live.hasMore,
    };
  };

  const read = async (): Promise<Batch> => {
    const caller = await callerNow();
    return readLive(caller) ?? (await readBehind(context, { caller, filters, after: cursor }));
  };

  if (asked !== null) batch = await readBehind(context, { caller: await callerNow(), filters, after: asked });
  return {
    cursor: () => cursor,
    hasMore: () => hasMore,
    next: async () => {
      try {
        const { text, next, hasMore: isBehind } = batch ?? (await read());
        batch = null;
        cursor = next;
        hasMore = isBehind;
        return text;
      } catch (error) {
        if (error instanceof DomainError && error.code === 'unavailable') return null;
        throw error;
      }
    },
  };
};

/** Why the service ended a stream. */
const reasonOf = (error: unknown, logger: HttpDependencies['logger']): string => {
  if (error instanceof DomainError) return error.code;
  logger.error({ err: error }, 'an event stream failed');
  return 'internal_error';
};

/**
 * @throws {DomainError} `invalid_cursor`; `rate_limit_exceeded`: too many streams of the key or the organization;
 * `unavailable`: too many in all, or the read model lags.
 */
export const openEventStream = async (streams: StreamContext, call: StreamCall): Promise<Readable> => {
  const { deps, closing, readers } = streams;
  const { logger, context } = deps;
  const { system } = context;
  const ended = new AbortController();
  const isOver = (): boolean => ended.signal.aborted || closing.aborted;
  let woken = Promise.withResolvers<void>();
  let sentMs = system.monotonicMs();
  let isTaken = true;

  const wake = (): void => {
    woken.resolve();
    // Called at least every 15 s, even if the reader has stalled.
    if (!isTaken && system.monotonicMs() - sentMs > STALLED_MS_MAX) stream?.destroy();
  };
  const watch = await readers.watch(call.caller, wake);

  async function* send(text: string): AsyncGenerator<string> {
    sentMs = system.monotonicMs();
    isTaken = false;
    yield text;
    isTaken = true;
  }

  let noticedEndMs: number | null = null;

  /** Wakes the stream when its key or session expires; any other end is a change, which wakes it too. */
  const noticeEnd = (): void => {
    const endsAtMs = call.request.authenticated?.endsAtMs ?? null;
    const nowMs = system.now().getTime();
    if (endsAtMs === null || endsAtMs === noticedEndMs || endsAtMs - nowMs > END_NOTICED_MS) return;
    noticedEndMs = endsAtMs;
    void pause(system, Math.max(0, endsAtMs - nowMs) + EARLY_MS, ended.signal).then(watch.wakeInTurn);
  };

  /** Until there may be something to send: new events, or a change of the key or session. Waiting costs nothing. */
  const wait = async (reader: Reader): Promise<void> => {
    if (isOver()) return;
    noticeEnd();
    if (reader.hasMore()) watch.wakeInTurn();
    await woken.promise;
    woken = Promise.withResolvers<void>();
  };

  /** The frames to send, or a heartbeat after a long silence; otherwise empty. */
  const framesFor = (text: string, cursor: FeedCursor): string =>
    text === '' && system.monotonicMs() - sentMs >= HEARTBEAT_MS ? heartbeatOf(cursor) : text;

  async function* step(reader: Reader): AsyncGenerator<string> {
    const text = await reader.next();
    const frames = text === null ? '' : framesFor(text, reader.cursor());
    if (frames !== '') yield* send(frames);
    if (text === null) await pause(system, RETRY_MS, ended.signal);
    else await wait(reader);
  }

  async function* frames(reader: Reader): AsyncGenerator<string> {
    yield* send(beginFrame(RECONNECT_MS, reader.cursor()));
    let reason = 'service_stopping';
    try {
      while (!isOver()) yield* step(reader);
    } catch (error) {
      reason = reasonOf(error, logger);
    }
    if (!ended.signal.aborted) yield endFrame(reason, reader.cursor());
  }

  const finish = (): void => {
    ended.abort();
    woken.resolve();
  };
  const end = (): void => {
    finish();
    watch.close();
    closing.removeEventListener('abort', wake);
  };
  let stream: Readable | undefined;
  try {
    const reader = await openReader(streams, call, watch);
    stream = Readable.from(frames(reader), { objectMode: false, highWaterMark: BUFFERED_BYTES_MAX });
  } catch (error) {
    end();
    throw error;
  }
  closing.addEventListener('abort', wake);
  // The stream closes only once its generator has ended, which may be waiting.
  call.reply.raw.once('close', end);
  if (call.reply.raw.closed) end();
  // A reader that has not taken all yet is watched and counted until its connection closes.
  onHalfClose(call.request, call.reply, finish);
  call.reply.type(`${EVENT_STREAM}; charset=utf-8`);
  // nginx passes events on at once, and no proxy keeps them.
  call.reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
  return stream;
};
