/**
 * An event log: append-only streams with optimistic concurrency, and one order over all of them that followers read.
 *
 * This file is the port. `postgres.ts` and `eventstoredb.ts` open a log in their technology, and one contract suite
 * (`test/contracts/event-store`) verifies that both keep the promises of `EventStore`. The main ones:
 *
 * 1. `append` writes all of its events or none, consecutively, and only at the revision that the writer expected.
 *    Repeating it with the same event ids returns the first result, so that an unknown outcome can be retried.
 * 2. `readStream` and `readAll` never leave out events silently: what is detached or unreadable is an error.
 * 3. `subscribe` delivers every event once and in order to each follower, and survives outages of the server.
 * 4. Positions are text and compare as text. A position that is not in the log means that the log was replaced.
 *
 * `createLogGuard` wraps a store so that a process never appends to a log other than the one it began with.
 *
 * The owner of a log chooses the events, the context stored with them, and the contents appended beside them (personal
 * data that can be deleted). They are the type parameters `E`, `C` and `K`, and reach the log only through the codec.
 */
import { type Logger, StoreUnavailable, type System } from '../async/async.ts';

export { hostsOf } from './eventstoredb-url.ts';

/** Zero-based number of an event within its stream. */
export type Revision = number;

/** Opaque, fixed-width text owned by the adapter: two positions of one log compare as text. */
export type Position = string;

/** Sorts before the position of every event. */
export const LOG_START: Position = '';

/** `<category>-<id>`. A category contains no dash. */
export type StreamName = `${string}-${string}`;

/** An event as its owner defines it. */
export interface EventShape {
  readonly type: string;
  readonly data: unknown;
}

/** The origin of an append, stored with each of its events. Memory of waiting appends is shared by organization. */
export interface ContextShape {
  readonly organizationId: string;
}

/** An event to append. The writer chooses its id, a UUID, so that a retried append uses the same ids. */
export type NewEvent<E extends EventShape = EventShape> = E & { readonly id: string };

/** The form in which every log stores an event and from which its audit leaf is made. Both texts are canonical JSON. */
export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
  /** The context, and the version of the event's schema as `schemaVersion`. The codec may add a proof of authenticity. */
  readonly metadata: string;
}

interface DecodedFields<C extends ContextShape> {
  readonly id: string;
  readonly metadata: C & { readonly schemaVersion: number };
  /** The stored form, in whatever schema version it was written. */
  readonly stored: StoredEvent;
}

interface RecordedFields<C extends ContextShape> extends DecodedFields<C> {
  readonly stream: StreamName;
  readonly revision: Revision;
  readonly position: Position;
}

export type RecordedEvent<E extends EventShape = EventShape, C extends ContextShape = ContextShape> = E &
  RecordedFields<C>;

/** True if the owner of the log wrote this event, at this revision of this stream. */
export type IsAuthentic = (event: Pick<RecordedEvent, 'stored' | 'stream' | 'revision'>) => boolean;

/** Authenticates texts that are stored outside the log, under the key that authenticates events. */
export interface Seals {
  make(text: string): string;
  holds(text: string, seal: string): boolean;
}

/** Proof of who wrote what. Absent: events carry none. */
export interface LogProofs {
  readonly isAuthentic?: IsAuthentic | undefined;
  readonly seals?: Seals | undefined;
}

/** Converts events to their stored form and back. The log never looks into an event. */
export interface EventCodec<E extends EventShape = EventShape, C extends ContextShape = ContextShape>
  extends LogProofs {
  /**
   * Encodes the events of an append.
   * @throws if they must not be written. Nothing is written then.
   */
  encode(events: readonly NewEvent<E>[], context: C, target: Target): readonly StoredEvent[];
  /** @throws if this process cannot read it. Readers stop before it. */
  decode(stored: StoredEvent): E & DecodedFields<C>;
}

/** Target stream of an append. */
interface Target {
  readonly stream: StreamName;
  /** Revision of the stream's last event as known to the writer. There is no "any". */
  readonly expected: Revision | 'no-stream';
}

/** Events copied unchanged from another log. */
export interface StoredAppend extends Target {
  readonly events: readonly StoredEvent[];
}

export interface Append<E extends EventShape = EventShape, C extends ContextShape = ContextShape, K = unknown>
  extends Target {
  /** At least one. Either all or none are stored, consecutively. */
  readonly events: readonly NewEvent<E>[];
  readonly context: C;
  /** Personal data to which these events refer by id. It is stored before them or in the same commit. */
  readonly contents?: readonly K[];
  /**
   * Set for events that record an action which would be repeated after a crash: they precede other queued appends of
   * this process. An engine that commits all waiting appends at once may ignore it.
   */
  readonly isUrgent?: boolean;
}

export interface AppendResult {
  /** Revision of the last event appended. */
  readonly revision: Revision;
  /** Position of the last event appended. */
  readonly position: Position;
}

export interface ReadStreamOptions {
  /** First revision to return. Default: 0 forwards, the end backwards. */
  readonly from?: Revision;
  readonly direction?: 'forwards' | 'backwards';
  readonly limit?: number;
}

/** Stream categories to read. Absent: all. */
export type Filter = { readonly categories?: readonly string[] };

export interface ReadAllOptions {
  /**
   * Exclusive: events strictly after (forwards) or strictly before (backwards) this position. Default: the first event
   * forwards, the last one backwards.
   */
  readonly from?: Position;
  readonly direction?: 'forwards' | 'backwards';
  readonly filter?: Filter;
  readonly limit: number;
  /**
   * Forwards only: position, obtained from this log, up to which the caller must see. The page may end there without
   * checking for later events. Default: the log's head.
   */
  readonly to?: Position;
  /**
   * Forwards only: approximate maximum bytes of data. The page ends early rather than exceed it, but always contains
   * its first event. Default: unlimited.
   */
  readonly bytesMax?: number;
  /**
   * Forwards only: stops the search on abort. The page then contains the events found so far and the position reached,
   * at which the next read continues. An engine that responds immediately may ignore it.
   */
  readonly signal?: AbortSignal;
  /**
   * True if the caller folds whole families into memory. Superseded events may be left out, so that a copy of those
   * families can be read instead of the log.
   */
  readonly folded?: boolean;
}

/** Events in log order, and the position up to which the log was searched, including filtered-out events. */
export interface Page<E extends EventShape = EventShape, C extends ContextShape = ContextShape> {
  readonly events: readonly RecordedEvent<E, C>[];
  readonly position: Position;
}

/** A page of a subscription. */
export interface FollowedPage<E extends EventShape = EventShape, C extends ContextShape = ContextShape>
  extends Page<E, C> {
  /** True if the page has the maximum size, so that more events are available and waiting would not collect any. */
  readonly isFull: boolean;
}

/** A difference between an event and what is stored about it a second time. */
export interface ColumnDifference {
  readonly stream: string;
  readonly sentence: string;
}

export interface LogLook {
  /** Null if the server holds no log. */
  readonly logId: string | null;
  /** Position of the last event, read after the id. Meaningless if the log is not this store's own. */
  readonly head: Position;
}

/** Its proofs are those of the codec. */
export interface EventStore<E extends EventShape = EventShape, C extends ContextShape = ContextShape, K = unknown>
  extends LogProofs {
  /** Compares redundant columns of a part of the log with its events. Absent: the engine stores nothing twice. */
  readonly compareColumns?:
    | ((part: { readonly after: Position; readonly to: Position }) => Promise<readonly ColumnDifference[]>)
    | undefined;

  /** Permanent id of this log. Checkpoints contain it, so that they cannot be used with another log. Read once. */
  logId(): Promise<string>;

  /** State of the server that accepts this store's appends, for checks that the log is still the same. */
  look(): Promise<LogLook>;

  /**
   * Appends events. If the same event ids were appended before, returns that result without writing anything.
   * @throws {WrongExpectedRevision} if nothing was written.
   * @throws {AppendOutcomeUnknown} if the events may have been written: retry with the same ids and the same
   * expectation.
   * @throws {StoreUnavailable} if nothing was written.
   */
  append(append: Append<E, C, K>): Promise<AppendResult>;

  /** Like `append`, for a copy of another log: events are stored byte for byte. */
  appendStored(append: StoredAppend): Promise<AppendResult>;

  /**
   * Events of one stream, at most `limit` (default `READ_STREAM_LIMIT`); empty if it does not exist.
   * @throws {EventsDetached} rather than return only some of the events.
   */
  readStream(stream: StreamName, options?: ReadStreamOptions): Promise<readonly RecordedEvent<E, C>[]>;

  /**
   * One page of the whole log.
   * @throws {PositionNotInLog} when reading forwards from a position that is not in it.
   * @throws {EventsDetached}
   */
  readAll(options: ReadAllOptions): Promise<Page<E, C>>;

  /** Position of the last event, or `LOG_START`. */
  head(): Promise<Position>;

  /**
   * Follows the log from strictly after `after`, without end, until `signal` aborts (the iteration then ends without an
   * error). Pages never skip or repeat events. A page may be empty and only advance the position. The next page is
   * fetched when the consumer asks for it, so that a slow consumer holds one page. Survives server outages.
   */
  subscribe(after: Position, filter: Filter, signal: AbortSignal): AsyncIterable<FollowedPage<E, C>>;

  close(): Promise<void>;
}

/** Streams are short, and callers page through longer ones. Higher: more memory. Lower: more round trips. */
export const READ_STREAM_LIMIT = 1000;

export const categoryOf = (stream: StreamName): string => stream.slice(0, stream.indexOf('-'));

export const passes = (filter: Filter | undefined, stream: StreamName): boolean =>
  filter?.categories?.includes(categoryOf(stream)) ?? true;

/** The part after the category: the id of the stream's subject. */
export const idOf = (stream: StreamName): string => stream.slice(stream.indexOf('-') + 1);

/** Bytes of an event's data, used to bound pages and kept events. The decoded data takes about twice as much. */
export const heldBytes = ({ stored }: Pick<RecordedEvent, 'stored'>): number => stored.data.length;

/** The category of nearly every event. Reads without it are served by an index, or a search, that excludes it. */
const BULK_CATEGORY = 'message';

/** True if the filter excludes the category that makes up nearly all of the log. */
export const isBesideMessages = (filter: Filter | undefined): boolean =>
  filter?.categories?.includes(BULK_CATEGORY) === false;

/** The stream is not at the revision that the writer expected. Nothing was written. */
export class WrongExpectedRevision extends Error {
  override readonly name = 'WrongExpectedRevision';
  readonly stream: StreamName;
  readonly expected: Revision | 'no-stream';
  readonly actual: Revision | 'no-stream';
  constructor(stream: StreamName, expected: Revision | 'no-stream', actual: Revision | 'no-stream') {
    super(`stream ${stream} is at ${actual}, not at ${expected}`);
    this.stream = stream;
    this.expected = expected;
    this.actual = actual;
  }
}

/** No response in time, or the connection broke after sending: the events may have been written. */
export class AppendOutcomeUnknown extends Error {
  override readonly name = 'AppendOutcomeUnknown';
}

/** The requested events are in a detached partition of the log. Attaching it makes them available again. */
export class EventsDetached extends StoreUnavailable {
  override readonly name = 'EventsDetached';
  constructor(what: string) {
    super(`${what} is in a detached partition: attach it again (list partitions with "outbox log partitions")`);
  }
}

/**
 * The log is a different one, or an older copy of the one that was followed. Memory and read models contain events that
 * it lacks, so nothing may be appended, and a retry cannot help.
 */
export class LogReplaced extends StoreUnavailable {
  override readonly name: string = 'LogReplaced';
}

/** The position to continue from is not in the log: it was restored from an older copy, or is another log. */
export class PositionNotInLog extends LogReplaced {
  override readonly name = 'PositionNotInLog';
  constructor() {
    super('the log ends before the position to continue from: it was restored from an older copy, or is another log');
  }
}

interface ReadPages extends Omit<ReadAllOptions, 'direction'> {
  /** Log position up to which to read. Pages may go beyond it. */
  readonly to: Position;
}

/** Reads a part of the log page by page. Every page advances the position and may be empty. An abort ends the reading. */
export async function* readPages<E extends EventShape, C extends ContextShape>(
  store: Pick<EventStore<E, C>, 'readAll'>,
  { from = LOG_START, ...options }: ReadPages,
): AsyncGenerator<Page<E, C>> {
  let position = from;
  while (position < options.to && options.signal?.aborted !== true) {
    const page = await store.readAll({ from: position, ...options });
    if (page.position <= position) return;
    position = page.position;
    yield page;
  }
}

interface ReadFamilies extends Pick<ReadPages, 'from' | 'to' | 'signal'> {
  readonly categories: readonly string[];
}

/** Higher: more events in memory at once. Lower: more round trips before a process is ready. */
const FAMILY_EVENTS_MAX = 1_000;

/** Reads whole families of events page by page, for callers that fold them into memory. */
export const readFamilies = <E extends EventShape, C extends ContextShape>(
  store: Pick<EventStore<E, C>, 'readAll'>,
  { categories, ...part }: ReadFamilies,
): AsyncGenerator<Page<E, C>> =>
  readPages(store, { ...part, filter: { categories }, limit: FAMILY_EVENTS_MAX, folded: true });

/**
 * Makes sure that the log is still the one that this process began with. A client reconnects silently, and the server
 * it reaches may be an empty node or an older copy: an append would be answered with 202 from another log.
 *
 * The guard knows the log's id and the last position it has seen. It compares both every second, before the first
 * append after any failed call, and when an append returns a position that was already passed. A different id is final.
 * A head behind the last seen position rejects everything at once, and becomes final when confirmed, since the new
 * leader of a cluster may briefly be behind. A final result lasts until the process restarts: its memory may contain
 * events of the other log. Once the right log is back, `onReturned` says that a restart will succeed.
 */
export interface LogGuard {
  /** Wraps the store. Once the log has been replaced, everything throws `LogReplaced`. */
  guard<E extends EventShape, C extends ContextShape, K>(store: EventStore<E, C, K>): EventStore<E, C, K>;
  /** null: the log has not been replaced. */
  replaced(): LogReplaced | null;
  close(): Promise<void>;
}

interface LogGuardOptions {
  /** Store whose log id and head are checked. */
  readonly store: EventStore;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  readonly logger: Logger;
  /** Default: `LOOK_EVERY_MS`. */
  readonly lookEveryMs?: number;
  /** Default: `BEHIND_MS_MAX`. */
  readonly behindMsMax?: number;
  /** Called once, when the log was replaced and the right one is connected again. */
  readonly onReturned?: () => void;
}

/**
 * Check interval. Longer accepts more into a log that was swapped without a failed call; each check is two small reads.
 */
const LOOK_EVERY_MS = 1_000;
/** How long a head may be behind the last seen position. Longer than a new leader needs to index its events. */
const BEHIND_MS_MAX = 800;

export const createLogGuard = async (options: LogGuardOptions): Promise<LogGuard> => {
  const { store, system, logger, lookEveryMs = LOOK_EVERY_MS, behindMsMax = BEHIND_MS_MAX, onReturned } = options;
  const logId = await store.logId();
  const closing = new AbortController();
  let seen: Position = LOG_START;
  let replaced: LogReplaced | null = null;
  /** Last head of the right log: `seen` may come from another one that had not been recognized yet. */
  let confirmedHead: Position = LOG_START;
  let hasReturned = false;
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
      `${what}: the service accepts no more requests. Connect the log that belongs to it, and restart it`,
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
      refuse('the log was replaced by an older copy: it ends before events that this service has read');
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
      confirmedHead = found.head;
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
    return refuse('the log was replaced by another: it does not contain the events that this service has read');
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

  const guard = <E extends EventShape, C extends ContextShape, K>(
    guarded: EventStore<E, C, K>,
  ): EventStore<E, C, K> => {
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

  const lookForReturn = async (): Promise<void> => {
    const found = await store.look();
    if (found.logId !== logId || found.head < confirmedHead) return;
    hasReturned = true;
    onReturned?.();
  };

  const watched = (): Promise<void> => (replaced === null ? lookOnce() : lookForReturn());
  const watch = async (): Promise<void> => {
    while (!closing.signal.aborted && !hasReturned) {
      await system.sleep(lookEveryMs, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) await watched().catch(() => undefined); // recorded
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
