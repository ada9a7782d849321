import {
  type Filter,
  type FollowedPage,
  LogReplaced,
  type Page,
  type Position,
  StoreUnavailable,
} from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';
import type { PageRequest } from './postgres-read-all.ts';
import { retryDelayMs } from './postgres-retry.ts';
import type { WakeUps } from './postgres-wake-ups.ts';

/** What a slow consumer holds, and a quick one does in one transaction; smaller costs round trips. */
const PAGE_EVENTS_MAX = 4000;
const PAGE_BYTES_MAX = 8_000_000;
/**
 * A follower of few categories is woken by every commit: after looking in vain it lets commits gather, at some fifty
 * queries a second. This long is what it may then be late.
 */
const VAIN_WAIT_MS = 20;

export interface SubscribeDependencies {
  readonly read: (request: PageRequest) => Promise<Page>;
  readonly wakeUps: WakeUps;
  readonly system: System;
  readonly logger: Logger;
}

const untilAbort = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> => {
  promise.catch(() => {}); // if the abort comes first, nobody waits for it
  return new Promise((resolve, reject) => {
    const aborted = (): void => resolve(undefined);
    signal.addEventListener('abort', aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
};

/** Reads on from a position; an empty page at that very position when aborted, or after a failed attempt. */
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

/** Waits, after a page in which nothing was found, until it is worth looking again. */
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

/** Follows the log page by page: read, hand over, and wait where there was nothing. */
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
    if (moved) yield { ...page, isFull: page.events.length === PAGE_EVENTS_MAX };
    await pause(page.events.length > 0, seen);
  }
}
