import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type AddressRange, clientNetworkOf, isWithin } from '../domain/kernel/addresses.ts';
import { createShares, type Place, type Shares } from '../lib/async/async.ts';

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
  /** Addresses of proxies. */
  readonly trusted: readonly AddressRange[];
}

export interface HttpConnections {
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
  { max, perNetwork, trusted }: ConnectionBounds,
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
    const network = clientNetworkOf(address);
    if (isWithin(trusted, address)) return { socket, network, place: null, open: 0 };
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
