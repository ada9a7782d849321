import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { createBatcher, eachPausing, inTurns, type Pausing, type System } from '../async/async.ts';
import {
  type Append,
  AppendOutcomeUnknown,
  type AppendResult,
  type EventCodec,
  type StoredAppend,
  type StoredEvent,
  type StreamName,
  WrongExpectedRevision,
} from './event-log.ts';
import {
  appendFailure,
  DECODED_BYTES_MAX,
  integerArray,
  isDataFault,
  readFailure,
  type TextRow,
  textArray,
  toPosition,
} from './postgres-read.ts';

/**
 * Concurrent calls. More would only queue for the lock: as measured on two cores, one and two in flight perform the
 * same with small events at 32 and 256 callers, and one is a fifth faster for a lone caller.
 */
export const APPENDS_IN_FLIGHT_MAX = 1;
/**
 * Events in a group. Smaller shares a commit among fewer appends; larger makes the first of a group wait for the last.
 */
const GROUP_EVENTS_MAX = 1000;
/** The same limit in bytes, for large events: some 50 ms of work for the server. */
const GROUP_BYTES_MAX = 8_000_000;
/** More: memory, and at 10,000 appends a second the last one waits two seconds. Fewer: short peaks get 503. */
const WAITING_APPENDS_MAX = 20_000;
const WAITING_BYTES_MAX = 128_000_000;
/** Bytes encoded and sent in one turn of the event loop: some milliseconds. */
const TURN_BYTES_MAX = 1_000_000;

/** One commit for the whole group: see `event_log.append` in `postgres.sql`. */
const APPEND = {
  name: 'event-log-append-with-words',
  text: `
    select * from event_log.append(
      $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
} as const;

const NO_STREAM = -1;

/** A row of contents, in the form of its columns: JSON as text. Stored in the same commit as the events. */
export interface EncodedContents {
  readonly id: string;
  readonly organizationId: string;
  readonly kind: string;
  /** Empty: not part of a message. */
  readonly messageId: string;
  /** Empty: derived from the body, which is small or not of a message. */
  readonly head: string;
  readonly body: string;
  /** Digests as an SQL array. Empty: it cannot be found by words. */
  readonly words: string;
}

export interface ContentsEncoder<K = unknown> {
  encode(contents: K): Promise<EncodedContents>;
}

/** Codecs of events and of the contents appended with them. */
interface Codecs {
  readonly codec: EventCodec;
  readonly contentsCodec: ContentsEncoder;
}

interface EncodedAppend extends StoredAppend {
  /** The organization that it belongs to. Copied events have none. */
  readonly owner: string;
  /** Encoded by this process, so its events have the current shape. */
  readonly isOwn: boolean;
  readonly contents: readonly EncodedContents[];
  readonly bytes: number;
}

const encoded = (append: StoredAppend & Pick<EncodedAppend, 'owner' | 'isOwn' | 'contents'>): EncodedAppend => {
  const eventBytes = append.events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
  const bytes = append.contents.reduce((sum, { head, body }) => sum + head.length + body.length, eventBytes);
  return { ...append, bytes };
};

const encode = async (
  { codec, contentsCodec }: Codecs,
  { stream, expected, events, context, contents = [] }: Append,
): Promise<EncodedAppend> => {
  const stored = codec.encode(events, context, { stream, expected });
  const rows: EncodedContents[] = [];
  for (const one of contents) rows.push(await contentsCodec.encode(one));
  return encoded({ stream, expected, events: stored, owner: context.organizationId, isOwn: true, contents: rows });
};

/**
 * A group holds one append per stream, so that all can be decided at once; the next append to a stream waits. Once the
 * group is full nothing overtakes: later appends may build on those left behind.
 */
const admission = (): ((append: EncodedAppend) => boolean) => {
  const streams = new Set<string>();
  let events = 0;
  let bytes = 0;
  return (append) => {
    if (streams.has(append.stream)) return false;
    // An append that does not fit is counted as well: smaller ones behind it must not overtake it.
    events += append.events.length;
    bytes += append.bytes;
    if (streams.size > 0 && (events > GROUP_EVENTS_MAX || bytes > GROUP_BYTES_MAX)) return false;
    streams.add(append.stream);
    return true;
  };
};

const revisionBefore = ({ expected }: EncodedAppend): number => (expected === 'no-stream' ? NO_STREAM : expected);

/** The eighteen parameters, in order. Members, numbers and metadata are one-based, as in SQL. */
const parametersOf = (group: readonly EncodedAppend[]): unknown[] => {
  /** Events of one append share their metadata, which is sent once. */
  const metadata: string[] = [];
  const events = group.flatMap((append, index) =>
    append.events.map((event, number) => {
      if (number === 0 || event.metadata !== metadata.at(-1)) metadata.push(event.metadata);
      return { ...event, metadata: metadata.length, member: index + 1, number: number + 1 };
    }),
  );
  const contents = group.flatMap((append, index) => append.contents.map((row) => ({ ...row, member: index + 1 })));
  return [
    textArray(group.map(({ stream }) => stream)),
    integerArray(group.map(revisionBefore)),
    integerArray(group.map((append) => append.events.length)),
    textArray(metadata),
    integerArray(events.map(({ member }) => member)),
    integerArray(events.map(({ number }) => number)),
    textArray(events.map(({ id }) => id)),
    textArray(events.map(({ type }) => type)),
    integerArray(events.map((event) => event.metadata)),
    textArray(events.map(({ data }) => data)),
    integerArray(contents.map(({ member }) => member)),
    textArray(contents.map(({ id }) => id)),
    textArray(contents.map(({ organizationId }) => organizationId)),
    textArray(contents.map(({ kind }) => kind)),
    textArray(contents.map(({ head }) => head)),
    textArray(contents.map(({ body }) => body)),
    textArray(contents.map(({ messageId }) => messageId)),
    textArray(contents.map(({ words }) => words)),
  ];
};

const outcomeOf = (
  { stream, expected }: EncodedAppend,
  row: TextRow | undefined,
): PromiseSettledResult<AppendResult> => {
  if (row === undefined) return { status: 'rejected', reason: new AppendOutcomeUnknown('the answer had no such row') };
  const [text, position] = row;
  const revision = Number(text);
  if (position != null) return { status: 'fulfilled', value: { revision, position: toPosition(position) } };
  const actual = revision === NO_STREAM ? 'no-stream' : revision;
  return { status: 'rejected', reason: new WrongExpectedRevision(stream, expected, actual) };
};

/**
 * Events of this process that are now in the log, with their positions. An earlier attempt may have written them: a
 * retry sends the same events, since ids are made for one append.
 */
export interface WrittenEvents {
  readonly stream: StreamName;
  readonly events: readonly StoredEvent[];
  /** Revision of the first event. */
  readonly revision: number;
  readonly position: number;
}

/** Receives what was appended. */
export interface AppendListener {
  onWritten(written: WrittenEvents): void;
  /** Something was written, or may have been. */
  onCommit(): void;
}

const IS_TRUE = 't';

const writtenBy = ({ stream, events, isOwn }: EncodedAppend, row: TextRow | undefined): WrittenEvents | null => {
  const [revision, position, isWritten] = row ?? [];
  if (!isOwn || isWritten !== IS_TRUE) return null;
  const before = events.length - 1;
  return { stream, events, revision: Number(revision) - before, position: Number(position) - before };
};

export interface Appending {
  append(append: Append): Promise<AppendResult>;
  appendStored(append: StoredAppend): Promise<AppendResult>;
  close(): Promise<void>;
}

/** Appends of this process that arrive during a commit share the next commit. */
export const createAppending = (
  pool: Pool,
  codecs: Codecs,
  listener: AppendListener,
  { system, patienceMs }: { readonly system: Pick<System, 'monotonicMs'>; readonly patienceMs: number },
): Appending => {
  /** If this fails, nothing was sent. */
  const connect = async (): Promise<PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      throw readFailure(error);
    }
  };

  const send = async (client: PoolClient, group: readonly EncodedAppend[]): Promise<readonly TextRow[]> => {
    try {
      const query = { ...APPEND, rowMode: 'array' as const, values: parametersOf(group) };
      // The client copies the group again to send it.
      if (group.reduce((sum, { bytes }) => sum + bytes, 0) > TURN_BYTES_MAX) await nextTurn();
      const { rows } = await client.query<(string | null)[]>(query);
      client.release();
      return rows;
    } catch (error) {
      client.release(true); // never reused: a late answer may still arrive on it
      throw error;
    }
  };

  /** Notifies the listener, which decodes the events it uses. */
  const notify = (group: readonly EncodedAppend[], rows: readonly TextRow[]): Pausing<void> =>
    eachPausing(group.entries(), DECODED_BYTES_MAX, ([index, append]) => {
      const written = writtenBy(append, rows[index]);
      if (written !== null) listener.onWritten(written);
      return append.events.reduce((sum, { data }) => sum + data.length, 0);
    });

  /** Commits each append separately, independent of the others' outcomes. */
  const commitOneByOne = async (
    group: readonly EncodedAppend[],
  ): Promise<readonly PromiseSettledResult<AppendResult>[]> => {
    const settled: PromiseSettledResult<AppendResult>[] = [];
    for (const append of group) {
      try {
        settled.push(...(await commit([append])));
      } catch (reason) {
        settled.push({ status: 'rejected', reason });
      }
    }
    return settled;
  };

  /** @throws {StoreUnavailable} if nothing was sent. */
  const commit = async (group: readonly EncodedAppend[]): Promise<readonly PromiseSettledResult<AppendResult>[]> => {
    const client = await connect();
    try {
      const rows = await send(client, group);
      await inTurns(notify(group, rows));
      return group.map((append, index) => outcomeOf(append, rows[index]));
    } catch (error) {
      if (group.length > 1 && isDataFault(error)) return commitOneByOne(group);
      return group.map(() => ({ status: 'rejected', reason: appendFailure(error) }));
    } finally {
      listener.onCommit();
    }
  };

  const batcher = createBatcher<EncodedAppend, AppendResult>({
    name: 'the log',
    inFlightMax: APPENDS_IN_FLIGHT_MAX,
    waitingMax: WAITING_APPENDS_MAX,
    waitingBytesMax: WAITING_BYTES_MAX,
    patience: { ms: patienceMs, system },
    bytesOf: ({ bytes }) => bytes,
    ownerOf: ({ owner }) => owner,
    admission,
    run: commit,
  });

  return {
    append: async (append) => batcher.add(await encode(codecs, append)),
    appendStored: (append) => batcher.add(encoded({ ...append, owner: '', isOwn: false, contents: [] })),
    close: batcher.close,
  };
};
