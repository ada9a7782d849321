import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { pause } from '../../../lib/async/async.ts';
import { endOf, type LiveEvent, type Watch } from '../../../projections/events/live-feed.ts';
import { type FeedCursor, isAfter } from '../../../projections/events/queries.ts';
import { acceptedIn } from '../../accept.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import type { Call, RouteContext } from '../../endpoint.ts';
import { type EventFilters, furtherFilter } from './event-filter.ts';
import { beginFrame, endFrame, heartbeatOf, liveFrameFor, storedFrameFor } from './event-frames.ts';
import { decodeFeedCursor, domainToRead, readEventPage } from './event-pages.ts';
import type { EventReaders } from './event-readers.ts';
import { onHalfClose } from './half-close.ts';

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

export interface StreamContext extends Pick<RouteContext, 'deps' | 'closing'> {
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
