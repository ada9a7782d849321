import {
  AppendOutcomeUnknown,
  type EventStore,
  type Filter,
  LOG_START,
  LogReplaced,
  type Page,
  type Position,
  PositionNotInLog,
  WrongExpectedRevision,
} from '../../domain/kernel/event-store.ts';
import { type Logger, StoreUnavailable, type System } from '../../lib/async/async.ts';

/**
 * Makes sure that the log is still the one that this process began with. A client reconnects silently, and the server
 * it reaches may be an empty node or an older copy: an append would be answered with 202 from another log.
 *
 * The guard knows the log's id and the last position it has seen. It compares both every second, before the first
 * append after any failed call, and when an append returns a position that was already passed. A different id is final.
 * A head behind the last seen position rejects everything at once, and becomes final when confirmed, since the new
 * leader of a cluster may briefly be behind. A final result lasts until the process restarts: its memory contains
 * events that the log lacks.
 */
export interface LogGuard {
  /** Wraps the store. Once the log has been replaced, everything throws `LogReplaced`. */
  guard(store: EventStore): EventStore;
  /** null: the log has not been replaced. */
  replaced(): LogReplaced | null;
  close(): Promise<void>;
}

export interface LogGuardOptions {
  /** Store whose log id and head are checked. */
  readonly store: EventStore;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  readonly logger: Logger;
  /** Default: `LOOK_EVERY_MS`. */
  readonly lookEveryMs?: number;
  /** Default: `BEHIND_MS_MAX`. */
  readonly behindMsMax?: number;
}

/**
 * Check interval. Longer accepts more into a log that was swapped without a failed call; each check is two small reads.
 */
const LOOK_EVERY_MS = 1_000;
/** How long a head may be behind the last seen position. Longer than a new leader needs to index its events. */
const BEHIND_MS_MAX = 800;

export const createLogGuard = async (options: LogGuardOptions): Promise<LogGuard> => {
  const { store, system, logger, lookEveryMs = LOOK_EVERY_MS, behindMsMax = BEHIND_MS_MAX } = options;
  const logId = await store.logId();
  const closing = new AbortController();
  let seen: Position = LOG_START;
  let replaced: LogReplaced | null = null;
  let behindSinceMs: number | null = null;
  /** A call has failed since the last check, so the next answer may come from another server. */
  let isDoubtful = false;
  let looking: Promise<void> | null = null;

  const saw = (position: Position): void => {
    if (position > seen) seen = position;
  };

  const refuse = (what: string): never => {
    if (replaced !== null) throw replaced;
    replaced = new LogReplaced(
      `${what}: nothing is accepted any more. Connect the log that belongs to this service, and start it again`,
    );
    logger.error({ logId, seen }, replaced.message);
    throw replaced;
  };

  const assertOpen = (): void => {
    if (replaced !== null) throw replaced;
  };

  /** @param before last seen position when the head was requested. */
  const judgeHead = (head: Position, before: Position): void => {
    saw(head);
    if (head >= before) {
      behindSinceMs = null;
      return;
    }
    isDoubtful = true;
    behindSinceMs ??= system.monotonicMs();
    if (system.monotonicMs() - behindSinceMs >= behindMsMax) {
      refuse('the log ends before what was seen of it, so that it was replaced by an older copy');
    }
    throw new StoreUnavailable('the log ends before what was seen of it');
  };

  const look = async (): Promise<void> => {
    isDoubtful = false;
    const before = seen;
    try {
      const found = await store.look();
      if (found.logId !== logId) refuse(`the log was replaced by ${found.logId ?? 'another, or by an empty one'}`);
      judgeHead(found.head, before);
    } catch (error) {
      isDoubtful = true;
      throw error;
    }
  };

  const lookOnce = (): Promise<void> => {
    looking ??= look().finally(() => {
      looking = null;
    });
    return looking;
  };

  /** Records what a failure shows about the log. */
  const failed = async (error: unknown): Promise<never> => {
    if (!(error instanceof WrongExpectedRevision)) isDoubtful = true;
    if (!(error instanceof LogReplaced)) throw error;
    if (error instanceof PositionNotInLog) await lookOnce();
    return refuse('the log was replaced by another: it does not hold what was followed');
  };

  /** An append that was already written is answered with its old position; so is the first append to an older copy. */
  const confirm = async (): Promise<void> => {
    try {
      await looking?.catch(() => undefined); // it began before the append
      await lookOnce();
    } catch (error) {
      if (error instanceof LogReplaced) throw error;
      throw new AppendOutcomeUnknown('the log could not be checked after an append', { cause: error });
    }
  };

  const passed = <P extends Page>(page: P): P => {
    saw(page.events.at(-1)?.position ?? LOG_START);
    return page;
  };

  const guard = (guarded: EventStore): EventStore => {
    async function* subscribe(after: Position, filter: Filter, signal: AbortSignal) {
      assertOpen();
      try {
        for await (const page of guarded.subscribe(after, filter, signal)) {
          assertOpen();
          yield passed(page);
        }
      } catch (error) {
        await failed(error);
      }
    }

    return {
      ...guarded,
      append: async (append) => {
        assertOpen();
        // A check that began before the fault says nothing about the time after it.
        while (isDoubtful) await lookOnce();
        const before = seen;
        const appended = await guarded.append(append).catch(failed);
        if (appended.position <= before) await confirm();
        saw(appended.position);
        return appended;
      },
      readStream: async (...request) => {
        assertOpen();
        return guarded.readStream(...request).catch(failed);
      },
      readAll: async (request) => {
        assertOpen();
        const page = await guarded.readAll(request).catch(failed);
        return request.direction === 'backwards' ? page : passed(page);
      },
      head: async () => {
        assertOpen();
        const before = seen;
        const head = await guarded.head().catch(failed);
        judgeHead(head, before);
        return head;
      },
      subscribe,
    };
  };

  const watch = async (): Promise<void> => {
    while (!closing.signal.aborted && replaced === null) {
      await system.sleep(lookEveryMs, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) await lookOnce().catch(() => undefined); // recorded
    }
  };
  const watching = watch();

  return {
    guard,
    replaced: () => replaced,
    close: async () => {
      closing.abort();
      await watching;
    },
  };
};
