import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js';
import { handleAppend } from './append-calls.ts';
import { type BadDays, goodDays, type ServerStyle } from './bad-days.ts';
import { handleBatchAppend } from './batch-append-calls.ts';
import { type Costs, type Counter, createToll, freeOfCharge } from './costs.ts';
import { handleRead } from './read-calls.ts';
import { type Relay, startRelay } from './relay.ts';
import type { ServerState } from './server-state.ts';
import { createStoredLog, type StoredLog } from './stored-log.ts';

/** Maximum of open calls on a connection. Further calls wait without an error. */
const OPEN_CALLS_MAX = 100;

export interface EventStoreDbDouble
  extends Counter,
    Pick<Relay, 'stop' | 'freeze' | 'thaw' | 'cut' | 'sentBytes' | 'connections'> {
  /** `esdb://127.0.0.1:<port>?tls=false` */
  readonly url: string;
  /** The same URL without the relay, which costs as much processor time as the server. It cannot break connections. */
  readonly directUrl: string;
  readonly log: StoredLog;
  readonly badDays: BadDays;
  readonly costs: Costs;
  /** Starts again after `stop`, on the same port and with its data. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const supportedMethods = (style: ServerStyle): SupportedMethods => {
  const supported = new features.SupportedMethods();
  supported.setEventStoreServerVersion(`${style}.0`);
  for (const name of ['append', 'batchappend', 'read']) {
    const method = new features.SupportedMethod();
    method.setServiceName('event_store.client.streams.streams');
    method.setMethodName(name);
    supported.addMethods(method);
  }
  return supported;
};

const bind = (server: Server, credentials: ServerCredentials): Promise<number> =>
  new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });

/** A server of the protocol, without a relay. @param credentials default: without TLS. */
export const openServer = (state: ServerState, credentials = ServerCredentials.createInsecure()) => {
  const server = new Server({
    'grpc.max_concurrent_streams': OPEN_CALLS_MAX,
    'grpc.max_receive_message_length': 17 * 1024 * 1024,
  });
  server.addService(streamsGrpc.StreamsService, {
    append: handleAppend(state),
    batchAppend: handleBatchAppend(state),
    read: handleRead(state),
  });
  server.addService(featuresGrpc.ServerFeaturesService, {
    getSupportedMethods: (_: unknown, callback: sendUnaryData<SupportedMethods>) =>
      callback(null, supportedMethods(state.style)),
  });
  return { server, listen: () => bind(server, credentials) };
};

/**
 * A server that speaks EventStoreDB's protocol, built on the client's own generated definitions. It imitates the
 * observed behaviour of real nodes, faults included. Its data lives as long as the double.
 */
export const startEventStoreDbDouble = async (style: ServerStyle = '24.10.5'): Promise<EventStoreDbDouble> => {
  const log = createStoredLog();
  const badDays = goodDays();
  const costs = freeOfCharge();
  const toll = createToll(costs);
  const state: ServerState = { log, badDays, style, toll, cutConnections: () => relay.cut() };
  const { server, listen } = openServer(state);
  const serverPort = await listen();
  const relay = await startRelay(serverPort);
  const urlOf = (port: number): string => `esdb://127.0.0.1:${port}?tls=false`;
  return {
    url: urlOf(relay.port),
    directUrl: urlOf(serverPort),
    log,
    badDays,
    costs,
    ...toll.counter,
    stop: relay.stop,
    start: async () => {
      log.forgetRecentIds();
      await relay.start();
    },
    freeze: relay.freeze,
    thaw: relay.thaw,
    cut: relay.cut,
    sentBytes: relay.sentBytes,
    connections: relay.connections,
    close: async () => {
      await relay.stop();
      server.forceShutdown();
    },
  };
};
