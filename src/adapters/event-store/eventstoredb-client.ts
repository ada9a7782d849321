import type { Readable, Writable } from 'node:stream';
import { EventStoreDBClient } from '@eventstore/db-client';
import streamsGrpc, { type StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { StoreUnavailable, type System, withTimeout } from '../../lib/async/async.ts';
import { NoAnswer } from './eventstoredb-faults.ts';
import { type AppendMessage, decodeAppended } from './eventstoredb-protocol-append.ts';
import {
  type CountedQuery,
  decodeRead,
  encodeRead,
  type RawEvent,
  type ReadMessage,
  type ReadQuery,
} from './eventstoredb-protocol-read.ts';
import { hostsOf, refuseUrl } from './eventstoredb-url.ts';

/**
 * One connection to EventStoreDB. The vendor's client finds the node to talk to, authenticates, and reconnects after
 * faults. Calls are opened through it and carry our own messages (`eventstoredb-protocol-*.ts`).
 */
export interface Connection {
  /** Hosts for messages: the URL may contain a password. */
  readonly hosts: string;
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
export type Lane = 'work' | 'tail';

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
const clientFor = (url: string, lane: Lane): EventStoreDBClient => {
  try {
    const known = url.trim().replace(NEWER_SCHEME, 'esdb');
    return EventStoreDBClient.connectionString(lane === 'tail' ? ownConnection(known) : known);
  } catch (error) {
    const isHarmless = error instanceof Error && /certificate|userCertFile|userKeyFile/.test(error.message);
    return refuseUrl(isHarmless ? `cannot be used: ${error.message}` : 'cannot be parsed');
  }
};

/** A stream without an error listener would end the process. The caller adds its own. */
const ignore = (): void => {};
const asItIs = (bytes: Buffer): Buffer => bytes;

/** @throws {StartRefused} if the connection string cannot be used. */
export const connect = (url: string, lane: Lane, system: System, callTimeoutMs: number): Connection => {
  const hosts = hostsOf(url);
  const client = clientFor(url, lane);
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
    hosts,
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
