import type { Readable, Writable } from 'node:stream';
import { DeadlineExceededError, EventStoreDBClient } from '@eventstore/db-client';
import streamsGrpc, { type StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { type Logger, StoreUnavailable, type System, withTimeout } from '../async/async.ts';
import { LogReplaced, PositionNotInLog } from './event-log.ts';
import {
  type AppendMessage,
  type CountedQuery,
  decodeAppended,
  decodeRead,
  encodeRead,
  type RawEvent,
  type ReadMessage,
  type ReadQuery,
} from './eventstoredb-protocol.ts';
import { type ConnectionSetting, hostsOf, refuseUrl, type ServerName } from './eventstoredb-url.ts';

/** Faults of EventStoreDB: which are transient, how the operator can fix the URL, and how followers recover. */

/** The client never ends a call without an answer: our time-out did. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** The call ended before this append was answered. It may have been written, or never read. */
export class CallEnded extends Error {
  override readonly name = 'CallEnded';
}

/** No call could be opened for it in time, or it waited too long for its turn. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
}

/**
 * gRPC's CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL and UNAVAILABLE: all observed in real
 * outages.
 */
const TRANSIENT_CODES: readonly unknown[] = [1, 4, 8, 10, 13, 14];
/** Errors from before anything was sent, or of a server that rejected the call unread: nothing was written. */
const NOT_WRITTEN =
  /No connection established|Name resolution failed|Failed to discover|Server Is (Not Ready|(Too )?Busy)|No leader info/i;

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | undefined)?.code;
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The client reports this in the error's metadata. */
const isNotLeader = (error: unknown): boolean =>
  (error as { readonly metadata?: { get?(name: string): unknown[] } } | undefined)?.metadata
    ?.get?.('exception')
    .includes('not-leader') === true;

/** True if the append that ended with this error cannot have been written. */
export const isNotWritten = (error: unknown): boolean => isNotLeader(error) || NOT_WRITTEN.test(textOf(error));

/** True if the same call may succeed later. */
export const isTransient = (error: unknown): boolean =>
  (error instanceof StoreUnavailable && !(error instanceof LogReplaced)) ||
  error instanceof NoAnswer ||
  error instanceof DeadlineExceededError ||
  TRANSIENT_CODES.includes(codeOf(error)) ||
  isNotWritten(error);

/** Errors for a start position at which no event begins: `InvalidPosition`, or `Error` inside an event. */
const NO_POSITION = /Invalid ?position|Unexpected ReadAllResult/i;

/** Meaning of the client's errors for the URL, which is in a setting. */
const remediesFor = (setting: string): readonly (readonly [RegExp, string])[] => [
  [/ECONNREFUSED/, `nothing listens there: start the server, or correct host and port in ${setting}`],
  [/ENOTFOUND|EAI_AGAIN|Name resolution/, `no such host: correct it in ${setting}`],
  [/wrong version number|packet length too long/i, `the server does not speak TLS: add ?tls=false to ${setting}`],
  [/self.signed|certificate/i, `its certificate is not trusted: add tlsCAFile=<path> to ${setting}`],
  [/Failed to discover/, `no node of the cluster answered: correct the hosts in ${setting}`],
  [
    /Access Denied|UNAUTHENTICATED|PERMISSION_DENIED/i,
    `access denied: ${setting} needs a user (esdb://name:password@host) that may read $all and write`,
  ],
  [
    /UNIMPLEMENTED|Protocol error|Parse Error/i,
    'the server does not speak this protocol: check that it is EventStoreDB, and remove tls=false if it expects TLS',
  ],
];

/** One sentence with the server's hosts and the remedy. Never with the URL, which may contain a password. */
export const sentenceOf = (error: unknown, { hosts, setting }: ServerName): string => {
  const text = textOf(error);
  const usual = `start it, or correct ${setting}`;
  if (error instanceof NoAnswer) return `${text} (${hosts}): ${usual}`;
  const remedy = remediesFor(setting).find(([pattern]) => pattern.test(text))?.[1];
  return `cannot use the event store at ${hosts}: ${remedy ?? `${text === '' ? String(error) : text}: ${usual}`}`;
};

/** Converts a client error into the fault reported by a read or a subscription. */
export const readFault = (error: unknown, server: ServerName): unknown => {
  if (error instanceof StoreUnavailable) return error;
  if (NO_POSITION.test(textOf(error))) return new PositionNotInLog();
  if (isTransient(error)) return new StoreUnavailable(sentenceOf(error, server), { cause: error });
  return codeOf(error) === undefined ? error : new Error(sentenceOf(error, server), { cause: error });
};

/** First wait before a new subscription. Shorter hammers a server that is starting; longer delays all followers. */
const RETRY_MS_MIN = 100;
/** Longest wait. Longer notices a recovered server later; shorter makes more attempts during a long outage. */
const RETRY_MS_MAX = 2_000;

interface RecoveryParts {
  readonly system: System;
  readonly server: ServerName;
  readonly logger: Logger;
}

/** Recovery of a process's followers while the server is down: one line in the log, and growing waits. */
export interface Recovery {
  /** Waits before another attempt after a fault. @throws the fault if retrying is useless. */
  recover(error: unknown, signal: AbortSignal): Promise<void>;
  /** Reports success, so that the next fault is logged as a new one. */
  works(): void;
}

/** Between half and all of a time that doubles with every failure, so that processes do not return in step. */
const retryMs = (failures: number, random: number): number =>
  Math.min(RETRY_MS_MIN * 2 ** (failures - 1), RETRY_MS_MAX) * (0.5 + random / 2);

export const createRecovery = ({ system, server, logger }: RecoveryParts): Recovery => {
  let failures = 0;
  return {
    recover: async (error, signal) => {
      if (signal.aborted) return;
      if (!isTransient(error)) throw readFault(error, server);
      failures += 1;
      if (failures === 1)
        logger.warn({ reason: sentenceOf(error, server) }, 'lost the subscription to the event store: resubscribing');
      const [byte = 0] = system.randomBytes(1);
      await system.sleep(retryMs(failures, byte / 255), signal).catch(() => {}); // aborted
    },
    works: () => {
      failures = 0;
    },
  };
};

/**
 * One connection to EventStoreDB. The vendor's client finds the node to talk to, authenticates, and reconnects after
 * faults. Calls are opened through it and carry our own messages (`eventstoredb-protocol.ts`).
 */
export interface Connection {
  /** Hosts for messages: the URL may contain a password. */
  readonly server: ServerName;
  readonly system: System;
  /** Longest wait for any data. */
  readonly callTimeoutMs: number;
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
  /** @throws {StoreUnavailable} once closed. */
  assertOpen(): void;
  /** `major.minor.patch` of the connected server. */
  serverVersion(): Promise<string>;
  /** Opens a read, or a subscription. @throws {NoAnswer} if it does not open in time. */
  openRead(query: ReadQuery, options: { readonly requiresLeader: boolean }): Promise<ReadCall>;
  /** Opens a call that accepts one append after another. @throws {NoAnswer} if it does not open in time. */
  openAppends(): Promise<AppendCall>;
  /** Rejects new calls, waits for `settled`, and disconnects. */
  close(settled: () => Promise<void>): Promise<void>;
}

/** Ends with an error if the server or the connection fails. */
export interface ReadCall extends Pick<Readable, 'pause' | 'resume' | 'isPaused'> {
  cancel(): void;
  on(event: 'data', listener: (message: ReadMessage) => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'end' | 'close', listener: () => void): this;
}

/** The server processes the appends of a call in the order in which they were written to it. */
export interface AppendCall extends Pick<Writable, 'write'> {
  cancel(): void;
  on(event: 'data', listener: (message: AppendMessage) => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'end', listener: () => void): this;
}

/**
 * The client enforces no deadline on most calls: a server that accepts but never answers would keep them pending
 * forever.
 * @throws {NoAnswer} after the time. The later result of `work` is ignored.
 */
export const inTime = <T>(ms: number, work: Promise<T>): Promise<T> =>
  withTimeout({ ms, error: () => new NoAnswer(`the event store did not answer within ${ms} ms`) }, work);

type CallArguments = Required<Parameters<StreamsClient['batchAppend']>>;

/** Members of the client that its types hide. Version 6.2.1 is its last, so they will not change. */
interface ClientInternals {
  /** The open channel. Opens one if necessary. */
  getChannel(): Promise<{ close(): void }>;
  /** Facts about the server, requested once per channel. */
  readonly capabilities: Promise<{ readonly serverVersion: string }>;
  /**
   * Opens a call on the channel. After faults of the call, the client reconnects if that helps: to the leader, for
   * example.
   */
  GRPCStreamCreator<Call>(
    Client: typeof StreamsClient,
    name: string,
    creator: (client: StreamsClient) => Call,
  ): () => Promise<Call>;
  /** Metadata and options of every call: the user, the connection's name. */
  callArguments(
    options: { readonly requiresLeader: boolean },
    callOptions: { readonly deadline: number },
  ): [CallArguments[0], CallArguments[1]];
}

/** The server's newer URL scheme, which this client does not know. It has the same meaning. */
const NEWER_SCHEME = /^kurrentdb(?=[+:])/;

/** Purpose of a connection. */
type Lane = 'work' | 'tail';

/** Default of the client. */
const KEEP_ALIVE_MS = 10_000;
const KEEP_ALIVE = /([?&]keep_?-?Alive_?-?Interval=)(\d+)/i;

/**
 * gRPC lets channels with the same options share a TCP connection, so that load on one delays the other. A keep-alive
 * that is a millisecond longer gives this channel a connection of its own.
 */
const ownConnection = (url: string): string => {
  if (KEEP_ALIVE.test(url)) return url.replace(KEEP_ALIVE, (_, name, ms) => `${name}${Number(ms) + 1}`);
  return `${url}${url.includes('?') ? '&' : '?'}keepAliveInterval=${KEEP_ALIVE_MS + 1}`;
};

/** @throws {StartRefused}. The client's own message may contain the password and is not repeated. */
const clientFor = ({ connectionString, setting }: ConnectionSetting, lane: Lane): EventStoreDBClient => {
  try {
    const known = connectionString.trim().replace(NEWER_SCHEME, 'esdb');
    return EventStoreDBClient.connectionString(lane === 'tail' ? ownConnection(known) : known);
  } catch (error) {
    const isHarmless = error instanceof Error && /certificate|userCertFile|userKeyFile/.test(error.message);
    return refuseUrl(setting, isHarmless ? `cannot be used: ${error.message}` : 'cannot be parsed');
  }
};

/** A stream without an error listener would end the process. The caller adds its own. */
const ignore = (): void => {};
const asItIs = (bytes: Buffer): Buffer => bytes;

/** @throws {StartRefused} if the connection string cannot be used. */
export const connect = (place: ConnectionSetting, lane: Lane, system: System, callTimeoutMs: number): Connection => {
  const server = { hosts: hostsOf(place), setting: place.setting };
  const client = clientFor(place, lane);
  const internals = client as unknown as ClientInternals;
  const closing = new AbortController();

  /** A call that opens too late is cancelled. */
  const open = async <Call extends { cancel(): void }>(creator: (grpc: StreamsClient) => Call): Promise<Call> => {
    const opening = internals.GRPCStreamCreator(streamsGrpc.StreamsClient, 'outbox', creator)();
    try {
      return await inTime(callTimeoutMs, opening);
    } catch (error) {
      opening.then((call) => call.cancel()).catch(ignore);
      throw error;
    }
  };

  return {
    server,
    system,
    callTimeoutMs,
    closing: closing.signal,
    assertOpen: () => {
      if (closing.signal.aborted) throw new StoreUnavailable('the event store is closed');
    },
    serverVersion: async () => (await inTime(callTimeoutMs, internals.capabilities)).serverVersion,
    openRead: (query, options) =>
      open((grpc) => {
        const path = '/event_store.client.streams.Streams/Read';
        const [metadata, callOptions] = internals.callArguments(options, { deadline: Number.POSITIVE_INFINITY });
        const call = grpc.makeServerStreamRequest(path, encodeRead, decodeRead, query, metadata, callOptions);
        return call.on('error', ignore) as ReadCall;
      }),
    openAppends: () =>
      open((grpc) => {
        const path = '/event_store.client.streams.Streams/BatchAppend';
        const leader = { requiresLeader: true };
        const [metadata, callOptions] = internals.callArguments(leader, { deadline: Number.POSITIVE_INFINITY });
        const call = grpc.makeBidiStreamRequest(path, asItIs, decodeAppended, metadata, callOptions);
        return call.on('error', ignore) as AppendCall;
      }),
    close: async (settled) => {
      closing.abort();
      await settled();
      await inTime(callTimeoutMs, client.dispose()).catch(ignore); // a server that is down does not delay us
      // `dispose` leaves the channel open; only this closes its sockets.
      const channel = await inTime(callTimeoutMs, internals.getChannel()).catch(() => undefined);
      channel?.close();
    },
  };
};

/** Called for one event. @returns true if no more events are needed. */
export type Visit = (event: RawEvent) => boolean;

/** Restarts the time-out whenever data arrives: a busy or distant server is not a dead one. */
const whileAnswering = async (ms: number, work: Promise<void>, received: () => number): Promise<void> => {
  for (let before = 0; ; before = received()) {
    try {
      return await inTime(ms, work);
    } catch (error) {
      if (!(error instanceof NoAnswer) || received() === before) throw error;
    }
  }
};

/**
 * Passes each event of a call to `visit` until it has enough, or the signal aborts. The call is then cancelled, unless
 * that was the last requested event: a call that runs to its end takes half the processor time of a cancelled one.
 */
export const visitAll = async (
  connection: Connection,
  query: CountedQuery,
  visit: Visit,
  signal: AbortSignal | undefined,
): Promise<void> => {
  if (signal?.aborted === true) return;
  const call = await connection.openRead(query, { requiresLeader: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let received = 0;
  let seen = 0;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    call.cancel();
    resolve();
  };
  signal?.addEventListener('abort', stop);
  call.on('data', (message) => {
    received += 1;
    if (isOver || message.kind !== 'event') return;
    seen += 1;
    try {
      isOver = visit(message.event);
      if (isOver && seen < query.count) stop();
    } catch (error) {
      reject(error);
      stop();
    }
  });
  call.on('end', resolve);
  call.on('error', reject);
  try {
    await whileAnswering(connection.callTimeoutMs, promise, () => received);
  } catch (error) {
    stop();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
};
