import { Client, type ClientConfig } from 'pg';
import {
  type Filter,
  type FollowedPage,
  heldBytes,
  LogReplaced,
  type Page,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
} from '../../domain/kernel/event-store.ts';
import { type Logger, StoreUnavailable, type System } from '../../lib/async/async.ts';
import { retryDelayMs } from './postgres-rows.ts';

/** Followers of the log in PostgreSQL. They read pages, and wait for notifications of appends between them. */

/** While notifications work, polling only catches missed ones: rare, and then up to a second late. */
const POLL_LISTENING_MS = 1000;
/** Without notifications, this is how stale followers may be, at four small queries a second for each. */
const POLL_DEAF_MS = 250;

export interface WakeUps {
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
export const createWakeUps = (
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
      }).catch((error: unknown) => logger.debug({ err: error }, 'cannot listen to the log; polling it'));
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

export interface SubscribeDependencies {
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
    if (failures === 0) logger.warn({ err: error }, 'following the log is interrupted');
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
export async function* followLog(
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
