/**
 * PORT: the log. Adapters: `adapters/event-store/{postgres,eventstoredb}`, and an in-memory double for tests. One
 * contract suite (`test/contracts/event-store`) verifies that all of them keep the promises below.
 */
import { StoreUnavailable } from '../../lib/async/async.ts';
import type { MessageContents } from '../ports/contents.ts';
import type { EventContext, EventMetadata, Position, Revision, StoredEvent, StreamName } from './event.ts';
import type { OutboxEvent } from './events.ts';

export type {
  EventContext,
  EventMetadata,
  OperatorHost,
  Position,
  Revision,
  StoredEvent,
  StreamName,
} from './event.ts';

/** Sorts before the position of every event. */
export const LOG_START: Position = '';

/** An event to append. The writer chooses its id, a UUID, so that a retried append uses the same ids. */
export type NewEvent<E extends OutboxEvent = OutboxEvent> = E & { readonly id: string };

export type RecordedEvent<E extends OutboxEvent = OutboxEvent> = E & {
  readonly id: string;
  readonly stream: StreamName;
  readonly revision: Revision;
  readonly position: Position;
  readonly metadata: EventMetadata;
  /** The stored form, in whatever schema version it was written. */
  readonly stored: StoredEvent;
};

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

export interface Append extends Target {
  /** At least one. Either all or none are stored, consecutively. */
  readonly events: readonly NewEvent[];
  readonly context: EventContext;
  /** Personal data to which these events refer by id. It is stored before them or in the same commit. */
  readonly contents?: readonly MessageContents[];
  /**
   * Set for events that record an action which would be repeated after a crash: they precede other queued appends of
   * this process. An engine that commits all waiting appends at once may ignore it.
   */
  readonly isUrgent?: boolean;
}

export interface Appended {
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
export interface Page {
  readonly events: readonly RecordedEvent[];
  readonly position: Position;
}

/** A page of a subscription. */
export interface FollowedPage extends Page {
  /** True if the page has the maximum size, so that more events are available and waiting would not collect any. */
  readonly isFull: boolean;
}

export interface LogLook {
  /** Null if the server holds no log. */
  readonly logId: string | null;
  /** Position of the last event, read after the id. Meaningless if the log is not this store's own. */
  readonly head: Position;
}

export interface EventStore {
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
  append(append: Append): Promise<Appended>;

  /** Like `append`, for a copy of another log: events are stored byte for byte. */
  appendStored(append: StoredAppend): Promise<Appended>;

  /**
   * Events of one stream, at most `limit` (default `READ_STREAM_LIMIT`); empty if it does not exist.
   * @throws {EventsDetached} rather than return only some of the events.
   */
  readStream(stream: StreamName, options?: ReadStreamOptions): Promise<readonly RecordedEvent[]>;

  /**
   * One page of the whole log.
   * @throws {PositionNotInLog} when reading forwards from a position that is not in it.
   * @throws {EventsDetached}
   */
  readAll(options: ReadAllOptions): Promise<Page>;

  /** Position of the last event, or `LOG_START`. */
  head(): Promise<Position>;

  /**
   * Follows the log from strictly after `after`, without end, until `signal` aborts (the iteration then ends without an
   * error). Pages never skip or repeat events. A page may be empty and only advance the position. The next page is
   * fetched when the consumer asks for it, so that a slow consumer holds one page. Survives server outages.
   */
  subscribe(after: Position, filter: Filter, signal: AbortSignal): AsyncIterable<FollowedPage>;

  close(): Promise<void>;
}

/** Streams are short, and callers page through longer ones. Higher: more memory. Lower: more round trips. */
export const READ_STREAM_LIMIT = 1000;

export const categoryOf = (stream: StreamName): string => stream.slice(0, stream.indexOf('-'));

export const passes = (filter: Filter | undefined, stream: StreamName): boolean =>
  filter?.categories?.includes(categoryOf(stream)) ?? true;

/** The part after the category: the id of the stream's subject. */
export const idOf = (stream: StreamName): string => stream.slice(stream.indexOf('-') + 1);

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
    super(`${what} is in a detached partition: attach it again ("npm run outbox -- log partitions" lists them)`);
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
    super('the log ends before the position to go on from: it was restored from an older copy, or is another log');
  }
}

/** Bytes of an event's data, used to bound pages and kept events. The decoded data takes about twice as much. */
export const heldBytes = ({ stored }: Pick<RecordedEvent, 'stored'>): number => stored.data.length;

interface ReadFamilies {
  readonly categories: readonly string[];
  /** Exclusive. Default: the log's start. */
  readonly from?: Position;
  /** Log position up to which to read. Pages may go beyond it. */
  readonly to: Position;
  /** Stops the search. Events found until then have been yielded. */
  readonly signal?: AbortSignal;
}

/** Higher: more events in memory at once. Lower: more round trips before a process is ready. */
const PAGE_EVENTS_MAX = 1_000;

/**
 * Reads whole families of events page by page, for callers that fold them into memory. Every page advances the position
 * and may be empty.
 */
export async function* readFamilies(
  store: Pick<EventStore, 'readAll'>,
  { categories, from = LOG_START, to, signal }: ReadFamilies,
): AsyncGenerator<Page> {
  const filter = { categories };
  const options = { filter, to, limit: PAGE_EVENTS_MAX, folded: true, ...(signal === undefined ? {} : { signal }) };
  let position = from;
  while (position < to && signal?.aborted !== true) {
    const page = await store.readAll({ from: position, ...options });
    if (page.position <= position) return;
    position = page.position;
    yield page;
  }
}
