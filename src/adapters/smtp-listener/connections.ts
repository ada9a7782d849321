import type { Server, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

/** How many connections a client network may have, and for how long. */

/** The client's end of a connection. */
export interface Peer {
  readonly remoteAddress: string;
  readonly remotePort: number;
}

type Session = Peer & { readonly id: string };

/** Bounds of a listener's connections. */
export interface ConnectionBounds {
  /** At the same time, from one client network. */
  readonly perNetwork: number;
  /** Time from connecting to authentication; absent: none is required. */
  readonly authMs?: number;
  /** Longest time of a connection, however busy it is. */
  readonly durationMs: number;
}

export interface Connections {
  /** Counts a session until `leave`. @returns false: its network has as many as it may. */
  enter(session: Session): boolean;
  leave(session: Session): void;
  /** Ends the time limit for authentication. */
  authenticated(peer: Peer): void;
  /** Closes the connection at once. */
  end(peer: Peer): void;
}

interface Held {
  readonly socket: Socket;
  readonly authTimer: NodeJS.Timeout | undefined;
  readonly durationTimer: NodeJS.Timeout;
}

/**
 * Tells TLS on top of the socket first. Destroying only the socket in the middle of a handshake crashes the process (Node 24).
 */
const endSocket = (socket: Socket): void => {
  socket.emit('close', false);
  socket.destroy();
};

/** Time before a socket that just got TLS is ended: in the same turn that crashes Node 24. */
export const NEW_TLS_MS = 50;

/** Sockets and sessions write one address in several ways. */
const nameOf = ({ remoteAddress = '', remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string =>
  `${ipaddr.isValid(remoteAddress) ? ipaddr.process(remoteAddress) : ''} ${remotePort}`;

/**
 * Sockets of a network for each connection that it may have; more are ended without a reply. Fewer leave no room for the
 * reply that there are too many; more let one network use up all sockets before the TLS handshake.
 */
const SOCKETS_PER_CONNECTION = 2;

/**
 * Bounds the connections of a listener. Sockets are ended from here: nothing a client sends can put that off.
 * @param networkOf the network that an address counts for.
 */
export const boundConnections = (
  server: Server,
  { perNetwork, authMs, durationMs }: ConnectionBounds,
  networkOf: (address: string) => string,
): Connections => {
  const networks = new Map<string, string>();
  const counts = new Map<string, number>();
  const sockets = new Map<string, Held>();
  /** Sockets by network. */
  const opened = new Map<string, number>();

  const forget = (name: string): void => {
    const { authTimer, durationTimer } = sockets.get(name) ?? {};
    clearTimeout(authTimer);
    clearTimeout(durationTimer);
    sockets.delete(name);
  };

  /** Counts all sockets of a network, also those in a TLS handshake and those refused but still open. */
  const hasRoom = (socket: Socket): boolean => {
    const network = networkOf(socket.remoteAddress ?? '');
    const count = opened.get(network) ?? 0;
    if (count >= perNetwork * SOCKETS_PER_CONNECTION) return false;
    opened.set(network, count + 1);
    socket.once('close', () => {
      const left = (opened.get(network) ?? 1) - 1;
      if (left > 0) opened.set(network, left);
      else opened.delete(network);
    });
    return true;
  };

  server.on('connection', (socket) => {
    if (!hasRoom(socket)) {
      setTimeout(endSocket, NEW_TLS_MS, socket);
      return;
    }
    const name = nameOf(socket);
    const end = (): void => {
      forget(name);
      endSocket(socket);
    };
    forget(name);
    const authTimer = authMs === undefined ? undefined : setTimeout(end, authMs).unref();
    sockets.set(name, { socket, authTimer, durationTimer: setTimeout(end, durationMs).unref() });
  });

  return {
    enter: ({ id, remoteAddress }) => {
      const network = networkOf(remoteAddress);
      const count = counts.get(network) ?? 0;
      if (count >= perNetwork) return false;
      counts.set(network, count + 1);
      networks.set(id, network);
      return true;
    },
    leave: ({ id, ...peer }) => {
      const network = networks.get(id);
      forget(nameOf(peer));
      if (network === undefined) return;
      networks.delete(id);
      const count = counts.get(network) ?? 1;
      if (count > 1) counts.set(network, count - 1);
      else counts.delete(network);
    },
    authenticated: (peer) => clearTimeout(sockets.get(nameOf(peer))?.authTimer),
    end: (peer) => {
      const socket = sockets.get(nameOf(peer))?.socket;
      if (socket !== undefined) endSocket(socket);
    },
  };
};
