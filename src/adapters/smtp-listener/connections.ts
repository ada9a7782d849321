import type { Server, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

/** How many connections a neighbour may have, and for how long. */

/** One end of a connection, as a session knows it too. */
export interface Peer {
  readonly remoteAddress: string;
  readonly remotePort: number;
}

type Session = Peer & { readonly id: string };

/** What no client may hold for longer, or more of. */
export interface ConnectionBounds {
  /** At the same time, of one neighbour. */
  readonly perNeighbour: number;
  /** From the connection until it is welcome; absent: everybody is. */
  readonly strangerMs?: number;
  /** However busy it is. */
  readonly durationMs: number;
}

export interface Connections {
  /** false: this neighbour has as many as it may; otherwise it counts until `leave`. */
  enter(session: Session): boolean;
  leave(session: Session): void;
  /** It has said who it is: it may stay. */
  welcome(peer: Peer): void;
  /** Ends it at once, whatever it does. */
  end(peer: Peer): void;
}

interface Held {
  readonly socket: Socket;
  readonly stranger: NodeJS.Timeout | undefined;
  readonly longest: NodeJS.Timeout;
}

/**
 * TLS on top of it hears of its end first, and ends from above: destroyed from below in the middle of a handshake, it
 * takes the process with it (Node 24).
 */
const endSocket = (socket: Socket): void => {
  socket.emit('close', false);
  socket.destroy();
};

/** TLS that was put on a socket a moment ago is left alone for so long: ended in the same turn, it crashes Node 24. */
export const NEW_TLS_MS = 50;

/** Sockets and sessions write one address in several ways. */
const nameOf = ({ remoteAddress = '', remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string =>
  `${ipaddr.isValid(remoteAddress) ? ipaddr.process(remoteAddress) : ''} ${remotePort}`;

/**
 * Sockets of a neighbour for each connection that it may have; those beyond are ended without a word. Fewer would leave no
 * room for telling it that it has too many; more let one neighbour take every place before the handshake of TLS.
 */
const SOCKETS_PER_CONNECTION = 2;

/**
 * Bounds the connections of a listener. Sockets are ended from here: nothing a client sends can put that off.
 * @param neighbourOf what an address is counted by.
 */
export const boundConnections = (
  server: Server,
  { perNeighbour, strangerMs, durationMs }: ConnectionBounds,
  neighbourOf: (address: string) => string,
): Connections => {
  const neighbours = new Map<string, string>();
  const counts = new Map<string, number>();
  const sockets = new Map<string, Held>();
  /** Sockets by neighbour. */
  const opened = new Map<string, number>();

  const forget = (name: string): void => {
    const { stranger, longest } = sockets.get(name) ?? {};
    clearTimeout(stranger);
    clearTimeout(longest);
    sockets.delete(name);
  };

  /** All sockets of a neighbour, also those that have not shaken hands for TLS and those refused that have not left. */
  const hasRoom = (socket: Socket): boolean => {
    const neighbour = neighbourOf(socket.remoteAddress ?? '');
    const count = opened.get(neighbour) ?? 0;
    if (count >= perNeighbour * SOCKETS_PER_CONNECTION) return false;
    opened.set(neighbour, count + 1);
    socket.once('close', () => {
      const left = (opened.get(neighbour) ?? 1) - 1;
      if (left > 0) opened.set(neighbour, left);
      else opened.delete(neighbour);
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
    const stranger = strangerMs === undefined ? undefined : setTimeout(end, strangerMs).unref();
    sockets.set(name, { socket, stranger, longest: setTimeout(end, durationMs).unref() });
  });

  return {
    enter: ({ id, remoteAddress }) => {
      const neighbour = neighbourOf(remoteAddress);
      const count = counts.get(neighbour) ?? 0;
      if (count >= perNeighbour) return false;
      counts.set(neighbour, count + 1);
      neighbours.set(id, neighbour);
      return true;
    },
    leave: ({ id, ...peer }) => {
      const neighbour = neighbours.get(id);
      forget(nameOf(peer));
      if (neighbour === undefined) return;
      neighbours.delete(id);
      const count = counts.get(neighbour) ?? 1;
      if (count > 1) counts.set(neighbour, count - 1);
      else counts.delete(neighbour);
    },
    welcome: (peer) => clearTimeout(sockets.get(nameOf(peer))?.stranger),
    end: (peer) => {
      const socket = sockets.get(nameOf(peer))?.socket;
      if (socket !== undefined) endSocket(socket);
    },
  };
};
