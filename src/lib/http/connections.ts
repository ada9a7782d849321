import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createCohort, createShares, type Place, type Shares } from '../async/async.ts';

/**
 * Bounds of the connections of the HTTP server. A connection counts for its network until a request on it is authenticated.
 * Above a bound an idle connection is closed for the new one: first one that has not authenticated. A new connection is closed
 * only if all others are being answered. Proxies that the operator trusts bring many clients, so they have no share.
 */

/** Higher: file descriptors and memory, some 10 kB each. Lower: streams and browsers are cut off. */
export const CONNECTIONS_MAX = 12_000;
/** Not authenticated, from one network. Higher: strangers hold more descriptors. Lower: large offices lose idle connections. */
export const UNAUTHENTICATED_PER_NETWORK_MAX = 500;
/** Left for the database, mail, webhooks and files. More: fewer clients. Fewer: the process cannot open what it needs. */
const DESCRIPTORS_KEPT = 1_000;
/** With fewer descriptors, clients get this share of them. */
const CLIENTS_SHARE_MIN = 0.5;

export interface ConnectionBounds {
  readonly max: number;
  readonly perNetwork: number;
  /** The network that a client's address belongs to. */
  networkOf(address: string): string;
  /** True for proxies. */
  isTrusted(address: string): boolean;
}

interface HttpConnections {
  /** A request on it was authenticated. */
  authenticated(socket: Socket): void;
  /** Open connections. */
  size(): number;
}

interface Connection {
  readonly socket: Socket;
  readonly network: string;
  /** null: it counts for no network. */
  place: Place | null;
  /** Requests that are being answered. */
  open: number;
}

/** Connections that this process can have, by its limit of open files. */
export const connectionsMax = (descriptors: number): number =>
  Math.min(CONNECTIONS_MAX, Math.max(descriptors - DESCRIPTORS_KEPT, Math.floor(descriptors * CLIENTS_SHARE_MIN)));

export const boundHttpConnections = (
  server: Server,
  { max, perNetwork, networkOf, isTrusted }: ConnectionBounds,
): HttpConnections => {
  const connections = new Map<Socket, Connection>();
  /** Without a request; idle for the longest first. */
  const idle = new Set<Connection>();
  const places: Shares<'network'> = createShares({ max, shares: { network: perNetwork } });

  const forget = (connection: Connection): void => {
    connection.place?.release();
    connections.delete(connection.socket);
    idle.delete(connection);
  };

  /** @returns whether there was one. */
  const closeIdle = (isWanted: (connection: Connection) => boolean): boolean => {
    for (const connection of idle) {
      if (!isWanted(connection)) continue;
      forget(connection);
      connection.socket.destroy();
      return true;
    }
    return false;
  };

  const takePlace = (network: string): Place | null => {
    const take = () => places.take({ network });
    const place = take();
    if (!('full' in place)) return place;
    if (!closeIdle((one) => one.place !== null && one.network === network)) return null;
    const again = take();
    return 'full' in again ? null : again;
  };

  const hasRoom = (): boolean =>
    connections.size < max || closeIdle(({ place }) => place !== null) || closeIdle(() => true);

  /** null: the limit is reached. */
  const admit = (socket: Socket): Connection | null => {
    if (!hasRoom()) return null;
    const address = socket.remoteAddress ?? '';
    const network = networkOf(address);
    if (isTrusted(address)) return { socket, network, place: null, open: 0 };
    const place = takePlace(network);
    return place === null ? null : { socket, network, place, open: 0 };
  };

  server.on('connection', (socket: Socket) => {
    const connection = admit(socket);
    if (connection === null) return void socket.destroy();
    connections.set(socket, connection);
    idle.add(connection);
    socket.once('close', () => forget(connection));
  });

  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.open += 1;
    idle.delete(connection);
    response.once('close', () => {
      connection.open -= 1;
      if (connection.open === 0 && connections.has(socket)) idle.add(connection);
    });
  });

  return {
    authenticated: (socket) => {
      const connection = connections.get(socket);
      if (connection?.place == null) return;
      connection.place.release();
      connection.place = null;
    },
    size: () => connections.size,
  };
};

interface WaitingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The number of shortest requests that fit into one read. Exceeded only if pausing failed. */
const WAITING_MAX = 5_000;

/**
 * Serves pipelined requests of a connection one at a time, in order, as RFC 9112 §9.3.2 requires for unsafe methods.
 * Without it a client that pipelines puts any number of requests on the event loop at once. The next request begins in
 * another turn of the loop, so that other connections are served in between. While requests wait, the connection is
 * paused: at most one read (64 kB) waits. Node resumes a connection after each request read and each answer written, so
 * it is paused again each time. Clients that do not pipeline never wait here.
 */
export const oneAtATime = (serve: RequestListener): RequestListener => {
  /** Requests behind the one in progress, by connection; absent: none is in progress. */
  const busy = new WeakMap<Socket, WaitingRequest[]>();
  const known = new WeakSet<Socket>();

  const keepPaused = (socket: Socket): void => {
    socket.on('resume', () => {
      if ((busy.get(socket)?.length ?? 0) > 0) socket.pause();
    });
  };

  const begin = (socket: Socket, request: IncomingMessage, response: ServerResponse): void => {
    response.once('close', () => end(socket));
    serve(request, response);
  };

  const end = (socket: Socket): void => {
    const waiting = busy.get(socket) ?? [];
    const next = waiting.shift();
    if (next === undefined) busy.delete(socket);
    // Requests that wait on a closed or closing connection are dropped (RFC 9112 §9.6).
    if (next === undefined || !socket.writable) return;
    if (waiting.length === 0) socket.resume();
    setImmediate(begin, socket, next.request, next.response);
  };

  return (request, response) => {
    const { socket } = request;
    const waiting = busy.get(socket);
    if (waiting === undefined) {
      if (!known.has(socket)) keepPaused(socket);
      known.add(socket);
      busy.set(socket, []);
      begin(socket, request, response);
      return;
    }
    if (waiting.length === WAITING_MAX) {
      socket.destroy();
      return;
    }
    waiting.push({ request, response });
    socket.pause();
  };
};

/**
 * Higher: the log idles while a larger group is prepared; of 128 clients, 64 at a time are accepted 10 to 20 % more slowly.
 * Lower: each request costs more; 16 at a time, 1.15 times as much as 64.
 */
export const REQUESTS_MAX = 32;
/**
 * Assumed size of a body without `Content-Length`, and its first reservation; then as much as a small body, then the
 * route's maximum. Higher: clients that send small bodies this way are refused.
 */
export const UNANNOUNCED_BYTES = 16_000;

/** null: no body, or a chunked one. */
export const announcedBytes = ({ headers }: Pick<IncomingMessage, 'headers'>): number | null =>
  headers['content-length'] === undefined ? null : Number(headers['content-length']);

const bytesOf = (request: IncomingMessage): number =>
  announcedBytes(request) ?? (request.headers['transfer-encoding'] === undefined ? 0 : UNANNOUNCED_BYTES);

/**
 * Begins requests that came in one turn of the event loop together, in the next: from there they run in step. A small body
 * has arrived by then and is read at once. A request that cannot be answered any more does not begin.
 */
export const inCohorts = (serve: RequestListener): RequestListener => {
  const cohort = createCohort({ membersMax: REQUESTS_MAX });
  return (request, response) => {
    const { socket } = request;
    cohort.join(() => {
      // The client has reset the connection, which may be paused: nothing else would end it.
      if (socket.remoteAddress === undefined) socket.destroy();
      else if (socket.writable) serve(request, response);
    }, bytesOf(request));
  };
};
