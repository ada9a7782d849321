import { StoreUnavailable } from '../../lib/async/async.ts';
import type { AddressClass } from '../address-ranges.ts';
import type { Environment } from '../environment.ts';
import type { OutboxEvent } from '../events.ts';
import type { MessageContents } from './contents.ts';

/**
 * PORT: the log. Adapters: `adapters/event-store/{postgres,eventstoredb}`, and a double in memory for tests. One contract
 * suite (`test/contracts/event-store`) holds all of them to what is written here.
 */

/** Zero-based number of an event within its stream. */
export type Revision = number;

/** Opaque, fixed-width text owned by the adapter: two positions of one log compare as text. */
export type Position = string;

/** Sorts before the position of every event. */
export const LOG_START: Position = '';

/** `<category>-<id>`; a category holds no dash. */
export type StreamName = `${string}-${string}`;

/** The person or the machine behind a command of the operator. */
export interface OperatorHost {
  readonly user: string;
  readonly host: string;
}

/** Who did it, for whom and in the course of what; stored with every event. */
export interface EventContext {
  readonly $correlationId: string;
  readonly $causationId: string;
  readonly occurredAt: string;
  /** `key:<id>`, `auditor:<id>`, `member:<id>`, `worker:<job>`, `operator` or `service`. */
  readonly actor: string;
  readonly organizationId: string;
  readonly environment: Environment | null;
  readonly requestId: string | null;
  /** Number of the secret by which the key was authenticated: 1 for its first. Absent: no key did this. */
  readonly secret?: number;
  /** Id of the session in which a member did this. Absent: no member did. */
  readonly session?: string;
  /** Where the request came from. Absent: it was none to this service. */
  readonly sourceClass?: AddressClass;
  /** Address and user agent behind a request that manages something, in the vault (`RequestOrigins`). */
  readonly originId?: string;
  /** Root over these two, base64. */
  readonly originRoot?: string;
  /** Of a command of the operator. */
  readonly operator?: OperatorHost;
}

/** What is stored beside the data: the context, and the version of the event's schema, stamped by the codec. */
export interface EventMetadata extends EventContext {
  readonly schemaVersion: number;
}

/** An event to append. The id is a UUID made by the writer: an append is retried with the same ids. */
export type NewEvent<E extends OutboxEvent = OutboxEvent> = E & { readonly id: string };

/** One event as every log stores it and as its leaf in the audit tree is made: both texts are canonical JSON. */
export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
  /** The context, and the version of the event's schema as `schemaVersion`. */
  readonly metadata: string;
}

export type RecordedEvent<E extends OutboxEvent = OutboxEvent> = E & {
  readonly id: string;
  readonly stream: StreamName;
  readonly revision: Revision;
  readonly position: Position;
  readonly metadata: EventMetadata;
  /** What the log holds, whatever version it was written in. */
  readonly stored: StoredEvent;
};

/** Where an append goes. */
interface Target {
  readonly stream: StreamName;
  /** The revision of the stream's last event as the writer knows it. There is no "any". */
  readonly expected: Revision | 'no-stream';
}

/** Events of another log, to be stored as they are. */
export interface StoredAppend extends Target {
  readonly events: readonly StoredEvent[];
}

export interface Append extends Target {
  /** At least one; all or none are stored, one after another. */
  readonly events: readonly NewEvent[];
  readonly context: EventContext;
  /** Personal data these events refer to by id: stored before them, or with them in the same commit. */
  readonly contents?: readonly MessageContents[];
  /**
   * Puts on record what was done already and would be done again after a crash: goes ahead of this process's other
   * appends where they queue. An engine that commits all that wait at once may ignore it.
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
  /** First revision to return; forwards from 0 (default), backwards from the end. */
  readonly from?: Revision;
  readonly direction?: 'forwards' | 'backwards';
  readonly limit?: number;
}

/** Stream categories to be seen; none given means all. */
export type Filter = { readonly categories?: readonly string[] };

export interface ReadAllOptions {
  /** Exclusive: events strictly after (forwards) or strictly before (backwards) this position. Default: the end it starts from. */
  readonly from?: Position;
  readonly direction?: 'forwards' | 'backwards';
  readonly filter?: Filter;
  readonly limit: number;
  /**
   * Forwards alone: how far the caller has to see, a position that it was told of this log. The page may end there
   * without a look at what came later. Default: the log's head.
   */
  readonly to?: Position;
  /**
   * Forwards alone: about how many bytes of data the caller can hold. The page ends early where it would be more; its
   * first event always comes. Default: any number.
   */
  readonly bytesMax?: number;
  /**
   * Forwards alone: ends the search when it aborts. The page then holds what was found until then, and how far that was,
   * so that the next read goes on there. An engine that answers at once may ignore it.
   */
  readonly signal?: AbortSignal;
  /**
   * The caller folds whole families into what it keeps in memory: events that later ones supersede may be left out, so
   * that a copy of those families may answer in place of the log.
   */
  readonly folded?: boolean;
}

/** Some of the log, in order, and how far it was searched to find it (filtered-out events are passed over too). */
export interface Page {
  readonly events: readonly RecordedEvent[];
  readonly position: Position;
}

/** A page of those who follow the log. */
export interface FollowedPage extends Page {
  /** As large as pages become: more is there already, and nothing is gathered by waiting. */
  readonly isFull: boolean;
}

export interface LogLook {
  /** null: what answers there holds no log. */
  readonly logId: string | null;
  /** Position of the last event, asked for after the id. Of another log than this store's own it says nothing. */
  readonly head: Position;
}

export interface EventStore {
  /** Names this log for ever: checkpoints carry it, so that they cannot be used on another log. Asked for once. */
  logId(): Promise<string>;

  /** What the server that takes this store's appends holds at this moment: asked for by who guards the log. */
  look(): Promise<LogLook>;

  /**
   * Appends, or answers what an earlier append of the same event ids was given (nothing is written twice).
   * @throws {WrongExpectedRevision} nothing was written.
   * @throws {AppendOutcomeUnknown} may have been written: retry with the same ids and the same expectation.
   * @throws {StoreUnavailable} nothing was written.
   */
  append(append: Append): Promise<Appended>;

  /** As `append`, for a copy of another log: every byte of the events stays as it is there. */
  appendStored(append: StoredAppend): Promise<Appended>;

  /**
   * Events of one stream; empty where there is none. At most `limit` (default `READ_STREAM_LIMIT`).
   * @throws {EventsDetached} never fewer events than there were.
   */
  readStream(stream: StreamName, options?: ReadStreamOptions): Promise<readonly RecordedEvent[]>;

  /** One page of the whole log. @throws {PositionNotInLog} to go on forwards from. @throws {EventsDetached} */
  readAll(options: ReadAllOptions): Promise<Page>;

  /** Position of the last event, or `LOG_START`. */
  head(): Promise<Position>;

  /**
   * Follows the log from strictly after `after`, for ever, until `signal` aborts (the iteration then ends without an
   * error). Pages never skip or repeat; a page may be empty and only move the position. The next page is fetched when
   * the consumer asks for it: a slow consumer holds one page. Survives the server going away.
   */
  subscribe(after: Position, filter: Filter, signal: AbortSignal): AsyncIterable<FollowedPage>;

  close(): Promise<void>;
}

/** Streams are short; a caller that meets a longer one pages. Larger costs memory, smaller costs round trips. */
export const READ_STREAM_LIMIT = 1000;

export const categoryOf = (stream: StreamName): string => stream.slice(0, stream.indexOf('-'));

export const passes = (filter: Filter | undefined, stream: StreamName): boolean =>
  filter?.categories?.includes(categoryOf(stream)) ?? true;

/** What stands behind the category: the id of what the stream is about. */
export const idOf = (stream: StreamName): string => stream.slice(stream.indexOf('-') + 1);

/** The stream is not at the revision the writer expected; nothing was written. */
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

/** No answer in time, or the connection broke after sending: the events may have been written. */
export class AppendOutcomeUnknown extends Error {
  override readonly name = 'AppendOutcomeUnknown';
}

/** What was asked for is in a partition of the log that was taken out. It is there again once that is attached again. */
export class EventsDetached extends StoreUnavailable {
  override readonly name = 'EventsDetached';
  constructor(what: string) {
    super(`${what} is in a detached partition: attach it again ("npm run outbox -- log partitions" lists them)`);
  }
}

/**
 * The log is not the one that was followed: another one, or an older copy of it. What was seen of it is in memory and in
 * the read models, so that nothing may be appended, and trying again is in vain.
 */
export class LogReplaced extends StoreUnavailable {
  override readonly name: string = 'LogReplaced';
}

/** What the caller asks to go on from is not in the log: it was restored from an older copy, or is another one. */
export class PositionNotInLog extends LogReplaced {
  override readonly name = 'PositionNotInLog';
  constructor() {
    super('the log ends before the position to go on from: it was restored from an older copy, or is another log');
  }
}
