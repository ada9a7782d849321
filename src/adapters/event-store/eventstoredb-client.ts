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
 * One connection to EventStoreDB. The client of the server's makers finds the node to talk to, authenticates, and connects
 * again after faults; calls are opened through it and carry messages of ours (`eventstoredb-protocol-*.ts`).
 */
export interface Connection {
  /** For messages: the URL may hold a password. */
  readonly hosts: string;
  readonly system: System;
  /** Longest wait for a sign of life. */
  readonly callTimeoutMs: number;
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
  /** @throws {StoreUnavailable} once closed. */
  assertOpen(): void;
  /** `major.minor.patch`, of the server that is connected. */
  serverVersion(): Promise<string>;
  /** Opens a read, or a subscription. @throws {NoAnswer} not in time. */
  openRead(query: ReadQuery, options: { readonly requiresLeader: boolean }): Promise<ReadCall>;
  /** Opens a call that takes one append after another. @throws {NoAnswer} not in time. */
  openAppends(): Promise<AppendCall>;
  /** Refuses new calls, lets `settled` end, and disconnects. */
  close(settled: () => Promise<void>): Promise<void>;
}

/** Ends with an error where the server or the connection fails. */
export interface ReadCall extends Pick<Readable, 'pause' | 'resume' | 'isPaused'> {
  cancel(): void;
  on(event: 'data', listener: (message: ReadMessage) => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'end' | 'close', listener: () => void): this;
}

/** The server takes the appends of a call in the order in which they were written to it. */
export interface AppendCall extends Pick<Writable, 'write'> {
  cancel(): void;
  on(event: 'data', listener: (message: AppendMessage) => void): this;
  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'end', listener: () => void): this;
}

/**
 * The client enforces no deadline on most calls: a server that accepts and never answers keeps them pending for ever.
 * @throws {NoAnswer} after the time; what `work` does later is ignored.
 */
export const inTime = <T>(ms: number, work: Promise<T>): Promise<T> =>
  withTimeout({ ms, error: () => new NoAnswer(`the event store did not answer within ${ms} ms`) }, work);

type CallArguments = Required<Parameters<StreamsClient['batchAppend']>>;

/** What the client has and its types hide. Its version 6.2.1 is its last, so this does not move. */
interface ClientInternals {
  /** The open channel; opens one where there is none. */
  getChannel(): Promise<{ close(): void }>;
  /** Facts about the server; asked once per channel. */
  readonly capabilities: Promise<{ readonly serverVersion: string }>;
  /** Opens a call on the channel. Faults of it make the client connect again where that helps: to the leader, say. */
  GRPCStreamCreator<Call>(
    Client: typeof StreamsClient,
    name: string,
    creator: (client: StreamsClient) => Call,
  ): () => Promise<Call>;
  /** Metadata and options that every call carries: the user, the connection's name. */
  callArguments(
    options: { readonly requiresLeader: boolean },
    callOptions: { readonly deadline: number },
  ): [CallArguments[0], CallArguments[1]];
}

/** The server's newer name, which this client does not know: it stands for the same. */
const NEWER_SCHEME = /^kurrentdb(?=[+:])/;

/** What a connection is for. */
export type Lane = 'work' | 'tail';

/** As the client has it by default. */
const KEEP_ALIVE_MS = 10_000;
const KEEP_ALIVE = /([?&]keep_?-?Alive_?-?Interval=)(\d+)/i;

/**
 * gRPC lets channels of the same options share a TCP connection, so that what is busy on one delays the other: a
 * keep-alive that is a millisecond longer makes it another's.
 */
const ownConnection = (url: string): string => {
  if (KEEP_ALIVE.test(url)) return url.replace(KEEP_ALIVE, (_, name, ms) => `${name}${Number(ms) + 1}`);
  return `${url}${url.includes('?') ? '&' : '?'}keepAliveInterval=${KEEP_ALIVE_MS + 1}`;
};

/** @throws {StartRefused} the client's own words may hold the password and are not repeated. */
const clientFor = (url: string, lane: Lane): EventStoreDBClient => {
  try {
    const known = url.trim().replace(NEWER_SCHEME, 'esdb');
    return EventStoreDBClient.connectionString(lane === 'tail' ? ownConnection(known) : known);
  } catch (error) {
    const isHarmless = error instanceof Error && /certificate|userCertFile|userKeyFile/.test(error.message);
    return refuseUrl(isHarmless ? `cannot be used: ${error.message}` : 'cannot be parsed');
  }
};

/** A stream without a listener for errors ends the process; the caller adds its own. */
const ignore = (): void => {};
const asItIs = (bytes: Buffer): Buffer => bytes;

/** @throws {StartRefused} where the connection string cannot be used. */
export const connect = (url: string, lane: Lane, system: System, callTimeoutMs: number): Connection => {
  const hosts = hostsOf(url);
  const client = clientFor(url, lane);
  const internals = client as unknown as ClientInternals;
  const closing = new AbortController();

  /** A call that is opened too late is cancelled. */
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
      await inTime(callTimeoutMs, client.dispose()).catch(ignore); // a server that is away does not hold us up
      // `dispose` leaves the channel open; only this closes its sockets.
      const channel = await inTime(callTimeoutMs, internals.getChannel()).catch(() => undefined);
      channel?.close();
    },
  };
};

/** Of one event. @returns whether that is enough. */
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
 * Shows each event of a call until one is enough, or the signal aborts: the server is then told to stop, unless that was
 * the last event that was asked for. A call that ends by itself takes half the processor time of one that is cancelled.
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
