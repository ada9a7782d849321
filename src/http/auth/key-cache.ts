import {
  createKeyCacheProjection,
  KEY_CACHE_CATEGORIES,
  type LoadKeyCache,
} from '../../domain/api-key/key-cache-projection.ts';
import type { UsageMarks } from '../../domain/api-key/secret.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { type EventStore, LOG_START, type Position, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { ExistingSession } from '../../domain/member/session.ts';
import { type Logger, StoreUnavailable, type System, withTimeout } from '../../lib/async/async.ts';
import {
  createKeyCacheQueries,
  createSecretIndex,
  type KeyCacheQueries,
  type SecretIndex,
} from './key-cache-queries.ts';

/**
 * Keys, domains and organizations in memory, fed by the log, so that a request is authenticated without a round trip.
 * The tail of the log is read every 250 ms. The cache is trusted only while a read begun less than 900 ms ago has been
 * applied: with re-authentication every 100 ms a revoked key stops working within 1 s. A stale cache answers 503.
 */

interface KeyCacheOptions {
  /** The log, on a connection of its own if the engine has one: other work must not delay it. */
  readonly store: Pick<EventStore, 'readAll' | 'head'>;
  readonly system: System;
  readonly logger: Logger;
  readonly capturing: boolean;
}

export interface KeyCache extends KeyCacheQueries {
  /** Begins to follow the log. Resolves after the first read of the whole log, or when it failed and is retried. */
  start(): Promise<void>;
  /** Whether the cache may be trusted. */
  isFresh(): boolean;
  /** Applies everything the log holds at the time of the call. @returns false: not in time. */
  catchUp(): Promise<boolean>;
  /** Waits for the next regular read instead of causing one. @returns false: not in time. */
  nextRead(): Promise<boolean>;
  /** By SHA-256 of the secret, hex. */
  readonly find: SecretIndex['find'];
  /** For decisions that need every key. */
  readonly load: LoadKeyCache;
  /** Position of the last event applied. */
  position(): Position;
  /** Number of events applied: while it stays, no key, session, domain or organization has changed. */
  changes(): number;
  /** Calls back with each organization that events were applied of. */
  onChange(listener: (organizationId: string) => void): void;
  close(): Promise<void>;
}

/** Bounds how long a key revoked elsewhere works. Longer breaks the promise of 1 s, shorter turns hiccups into 503. */
const TRUSTED_MS = 900;
/** Shorter: more useless reads. Longer: fewer retries before the cache is stale. */
const TAIL_EVERY_MS = 250;
/** Least pause between two reads. Shorter leaves a busy process no time for requests. */
const TAIL_PAUSE_MS_MIN = 25;
/** A read that takes longer is aborted; the next one continues from its position. */
const TAIL_MS_MAX = 2_000;
/** How long an aborted read may take to end. Shorter loses what it read, longer delays the next read. */
const TAIL_ENDS_MS_MAX = 500;
/** How long a request waits for a catch-up. Longer keeps clients hanging, shorter turns a busy moment into 503. */
const CATCH_UP_MS_MAX = 700;
const PAGE_EVENTS = 1000;

interface Follower {
  readonly isFresh: () => boolean;
  readonly position: () => Position;
  readonly tail: (signal: AbortSignal) => Promise<void>;
  readonly changes: () => number;
  readonly onChange: KeyCache['onChange'];
}

/** Reads the tail of the log into the cache. */
const createFollower = ({ store, system }: KeyCacheOptions, secrets: SecretIndex): Follower => {
  let position: Position = LOG_START;
  let trustedSinceMs = Number.NEGATIVE_INFINITY;
  let changes = 0;
  const listeners: ((organizationId: string) => void)[] = [];

  const notify = (events: readonly RecordedEvent[]): void => {
    if (listeners.length === 0) return;
    const organizationIds = new Set(events.map(({ metadata }) => metadata.organizationId));
    for (const listener of listeners) for (const id of organizationIds) listener(id);
  };

  /** An abandoned read may still answer: a page is applied only if it follows the position. */
  const readPage = async (from: Position, to: Position, signal: AbortSignal): Promise<void> => {
    const filter = { categories: KEY_CACHE_CATEGORIES };
    const page = await store.readAll({ from, to, filter, limit: PAGE_EVENTS, signal, folded: true });
    if (position !== from) return;
    for (const event of page.events) secrets.apply(event);
    position = page.position;
    changes += page.events.length;
    notify(page.events);
  };

  const tail: Follower['tail'] = async (signal) => {
    const begunMs = system.monotonicMs();
    const head = await store.head();
    while (position < head) {
      const from = position;
      await readPage(from, head, signal);
      if (signal.aborted) throw new StoreUnavailable('the log was not read in time');
      if (position === from) throw new StoreUnavailable('the log does not answer up to its own head');
    }
    trustedSinceMs = Math.max(trustedSinceMs, begunMs);
  };

  return {
    tail,
    position: () => position,
    isFresh: () => system.monotonicMs() - trustedSinceMs < TRUSTED_MS,
    changes: () => changes,
    onChange: (listener) => void listeners.push(listener),
  };
};

export const createKeyCache = (options: KeyCacheOptions): KeyCache => {
  const { system, logger, capturing } = options;
  const projection = createKeyCacheProjection();
  const secrets = createSecretIndex(projection);
  const follower = createFollower(options, secrets);
  const closing = new AbortController();
  let running: Promise<boolean> | null = null;
  let next: Promise<boolean> | null = null;
  let failing = false;
  let following: Promise<void> = Promise.resolve();
  let due = Promise.withResolvers<boolean>();

  /** @param work never rejects. */
  const inTimeOrFalse = (work: Promise<boolean>, ms: number): Promise<boolean> =>
    withTimeout({ system, ms }, work).catch(() => false);

  const tail = async (signal: AbortSignal): Promise<boolean> => {
    try {
      await follower.tail(signal);
      if (failing) logger.info({}, 'the log can be read again: accepting requests');
      failing = false;
      return true;
    } catch (error) {
      if (!failing && !closing.signal.aborted)
        logger.error({ error }, 'cannot read the log: rejecting requests with 503');
      failing = true;
      return false;
    }
  };

  /** A late read is aborted before the next begins: the log is read once at a time. */
  const tailInTime = async (): Promise<boolean> => {
    const late = new AbortController();
    const reading = tail(AbortSignal.any([late.signal, closing.signal]));
    if (await inTimeOrFalse(reading, TAIL_MS_MAX)) return true;
    late.abort();
    return inTimeOrFalse(reading, TAIL_ENDS_MS_MAX);
  };

  const begin = (): Promise<boolean> => {
    running = tailInTime().finally(() => {
      running = null;
    });
    return running;
  };

  /** Joins the next read: the one in progress may have begun before the event the caller needs was appended. */
  const refresh = (): Promise<boolean> => {
    if (running === null) return begin();
    next ??= running.then(() => {
      next = null;
      return running ?? begin();
    });
    return next;
  };

  const follow = async (): Promise<void> => {
    let begunMs = system.monotonicMs();
    while (!closing.signal.aborted) {
      const tookMs = system.monotonicMs() - begunMs;
      const pauseMs = Math.max(TAIL_PAUSE_MS_MIN, TAIL_EVERY_MS - tookMs);
      await system.sleep(pauseMs, closing.signal).catch(() => undefined);
      begunMs = system.monotonicMs();
      const read = closing.signal.aborted ? Promise.resolve(false) : refresh();
      due.resolve(read);
      due = Promise.withResolvers();
      await read;
    }
  };

  const catchUp = (): Promise<boolean> => inTimeOrFalse(refresh(), CATCH_UP_MS_MAX);

  return {
    ...createKeyCacheQueries(projection, capturing),
    start: async () => {
      await inTimeOrFalse(refresh(), TAIL_MS_MAX);
      following = follow();
    },
    isFresh: follower.isFresh,
    catchUp,
    nextRead: () => inTimeOrFalse(due.promise, TAIL_EVERY_MS + CATCH_UP_MS_MAX),
    find: secrets.find,
    load: async () => {
      if (await catchUp()) return projection;
      throw new DomainError('unavailable', 'API keys cannot be checked at the moment: try again');
    },
    position: follower.position,
    changes: follower.changes,
    onChange: follower.onChange,
    close: async () => {
      closing.abort();
      await following;
    },
  };
};

/**
 * Whether sessions are in use. Each request of a session leaves a mark, as those of keys do; it is asked for only where
 * this process has not seen the session for as long as a session may rest.
 */
export interface SessionActivity {
  /** Whether the session was not used for so long that it is over. @param idleMs how long that is. */
  isIdle(session: ExistingSession, idleMs: number): Promise<boolean>;
  /** It is used now: its member does something. */
  note(session: ExistingSession): void;
}

/** 100 bytes each. With fewer, sessions that come again cost a query. */
const SEEN_MAX = 10_000;

export const createSessionActivity = ({
  usageMarks,
  system,
}: {
  readonly usageMarks: Pick<UsageMarks, 'of'>;
  readonly system: Pick<System, 'now'>;
}): SessionActivity => {
  /** When the session was last used, as far as is known here, and whether all processes were asked since. */
  const seen = new Map<string, { readonly atMs: number; readonly isFinal: boolean }>();

  const keep = (sessionId: string, atMs: number, isFinal: boolean): void => {
    const oldest = seen.size < SEEN_MAX ? undefined : seen.keys().next().value;
    if (oldest !== undefined) seen.delete(oldest);
    seen.delete(sessionId);
    seen.set(sessionId, { atMs, isFinal });
  };

  const lastUsedMs = async ({ sessionId, startedAt }: ExistingSession): Promise<number> => {
    const marks = await usageMarks.of([sessionId]);
    return Math.max(Date.parse(startedAt), ...marks.map(({ lastUsedAt }) => lastUsedAt.getTime()));
  };

  return {
    isIdle: async (session, idleMs) => {
      const nowMs = system.now().getTime();
      const known = seen.get(session.sessionId);
      if (nowMs - Math.max(known?.atMs ?? 0, Date.parse(session.startedAt)) < idleMs) return false;
      // It can have been used elsewhere only as long as it was not over there either.
      if (known?.isFinal === true) return true;
      const atMs = await lastUsedMs(session);
      const isIdle = nowMs - atMs >= idleMs;
      keep(session.sessionId, atMs, isIdle);
      return isIdle;
    },
    note: ({ sessionId }) => keep(sessionId, system.now().getTime(), false),
  };
};
